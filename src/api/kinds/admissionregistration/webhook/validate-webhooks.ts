import type * as k8s from "@kubernetes/client-node";
import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import { isEqual } from "../../../meta/is-equal.ts";
import { dns1035LabelProblems, dnsSubdomainProblems } from "../../../meta/names.ts";
import type { Wire } from "../../../meta/objects.ts";
import { validateLabelSelector } from "../../../meta/validate-metadata.ts";
import { validateWebhookService, validateWebhookUrl } from "../../../meta/validate-webhook.ts";
import { validateConditions } from "../conditions/validate-conditions.ts";
import type { Webhook } from "./webhook.ts";

type Rule = Wire<k8s.V1RuleWithOperations>;

const reviewVersions = ["v1", "v1beta1"];
const withoutSideEffects = ["None", "NoneOnDryRun"];
const allSideEffects = ["None", "NoneOnDryRun", "Some", "Unknown"];
const operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const scopes = ["*", "Cluster", "Namespaced"];

/**
 * Validates the webhooks of a configuration. Rules that its current webhooks violate are not enforced on an update. `current`
 * is undefined for a create.
 */
export function validateWebhooks(
  webhooks: readonly Webhook[],
  current: readonly Webhook[] | undefined,
): FieldError[] {
  const at = new FieldErrors("");
  const rules = rulesFor(webhooks, current ?? []);
  const names = new Set<string>();
  at.each("webhooks", webhooks, (webhook, atWebhook) => {
    validateWebhook(webhook, rules, atWebhook);
    validateReviewVersions(webhook.admissionReviewVersions ?? [], rules, atWebhook);
    if (!rules.uniqueNames || !webhook.name) return;
    if (names.has(webhook.name)) atWebhook.duplicate("name", webhook.name);
    names.add(webhook.name);
  });
  return at.errors;
}

interface EnforcedRules {
  readonly sideEffects: readonly string[];
  readonly recognizedReviewVersion: boolean;
  readonly uniqueNames: boolean;
  readonly labelValues: boolean;
  /** False for an update that changes no condition. */
  readonly matchConditions: boolean;
}

function rulesFor(next: readonly Webhook[], current: readonly Webhook[]): EnforcedRules {
  const isWithout = current.every(({ sideEffects }) => withoutSideEffects.includes(sideEffects));
  const recognizes = ({ admissionReviewVersions: versions = [] }: Webhook) =>
    versions.length === 0 || versions.some((version) => reviewVersions.includes(version));
  const selectors = new FieldErrors("");
  for (const { namespaceSelector, objectSelector } of current) {
    validateLabelSelector(namespaceSelector, selectors);
    validateLabelSelector(objectSelector, selectors);
  }
  return {
    sideEffects: isWithout ? withoutSideEffects : allSideEffects,
    recognizedReviewVersion: current.every(recognizes),
    uniqueNames: new Set(current.map(({ name }) => name)).size === current.length,
    labelValues: selectors.errors.length === 0,
    matchConditions: !isEqual(next.map(conditionsOf), current.map(conditionsOf)),
  };
}

const conditionsOf = ({ matchConditions = [] }: Webhook) => matchConditions;

function validateWebhook(webhook: Webhook, rules: EnforcedRules, at: FieldErrors): void {
  validateName(webhook.name ?? "", at);
  at.each("rules", webhook.rules, validateRule);
  at.oneOf("failurePolicy", webhook.failurePolicy, ["Fail", "Ignore"]);
  at.oneOf("matchPolicy", webhook.matchPolicy, ["Equivalent", "Exact"]);
  if (webhook.sideEffects === undefined)
    at.required("sideEffects", `must specify one of ${rules.sideEffects.join(", ")}`);
  else at.oneOf("sideEffects", webhook.sideEffects, rules.sideEffects);
  const { timeoutSeconds } = webhook;
  if (timeoutSeconds !== undefined && (timeoutSeconds > 30 || timeoutSeconds < 1))
    at.invalid("timeoutSeconds", timeoutSeconds, "the timeout value must be between 1 and 30 seconds");
  if (rules.labelValues) {
    validateLabelSelector(webhook.namespaceSelector, at.child("namespaceSelector"));
    validateLabelSelector(webhook.objectSelector, at.child("objectSelector"));
  }
  at.oneOf("reinvocationPolicy", webhook.reinvocationPolicy, ["IfNeeded", "Never"]);
  const { url, service } = webhook.clientConfig ?? {};
  if ((url === undefined) === (service === undefined))
    at.required("clientConfig", "exactly one of url or service is required");
  else if (url !== undefined) validateWebhookUrl(url, at.child("clientConfig"));
  else if (service) validateWebhookService(service, at.child("clientConfig.service"));
  if (rules.matchConditions) validateConditions(webhook.matchConditions, at);
}

/** Names have at least three segments: `validate.example.com`. */
function validateName(name: string, at: FieldErrors): void {
  if (name === "") {
    at.required("name");
    return;
  }
  const problems = dnsSubdomainProblems(name);
  if (problems.length > 0) at.invalid("name", name, problems.join(","));
  else if (name.split(".").length < 3)
    at.invalid("name", name, "should be a domain with at least three segments separated by dots");
}

function validateRule(rule: Rule, at: FieldErrors): void {
  const requested = rule.operations ?? [];
  if (requested.length === 0) at.required("operations");
  validateWildcard("operations", "operations", requested, at);
  requested.forEach((operation, i) => {
    at.oneOf(`operations[${i}]`, operation, operations);
  });
  const { apiGroups = [], apiVersions = [] } = rule;
  if (apiGroups.length === 0) at.required("apiGroups");
  validateWildcard("apiGroups", "API groups", apiGroups, at);
  if (apiVersions.length === 0) at.required("apiVersions");
  validateWildcard("apiVersions", "API versions", apiVersions, at);
  apiVersions.forEach((version, i) => {
    if (version === "") at.required(`apiVersions[${i}]`);
  });
  validateResources(rule.resources ?? [], at);
  at.oneOf("scope", rule.scope, scopes);
}

function validateWildcard(field: string, noun: string, values: readonly string[], at: FieldErrors): void {
  if (values.length > 1 && values.includes("*"))
    at.invalid(field, values, `if '*' is present, must not specify other ${noun}`);
}

function validateResources(resources: readonly string[], at: FieldErrors): void {
  if (resources.length === 0) at.required("resources");
  const wholeResources = new Set<string>();
  const wholeSubresources = new Set<string>();
  let isLastWithoutSubresource = false;
  resources.forEach((name, i) => {
    if (name === "") {
      at.required(`resources[${i}]`);
      return;
    }
    const slash = name.indexOf("/");
    if (slash < 0) {
      // As upstream, the last resource without a subresource decides.
      isLastWithoutSubresource = name !== "*";
      return;
    }
    const [resource, subresource] = [name.slice(0, slash), name.slice(slash + 1)];
    const invalid = (present: string) =>
      at.invalid(`resources[${i}]`, name, `if '${present}' is present, must not specify ${name}`);
    if (wholeResources.has(resource)) invalid(`${resource}/*`);
    if (wholeSubresources.has(subresource)) invalid(`*/${subresource}`);
    if (subresource === "*") wholeResources.add(resource);
    if (resource === "*") wholeSubresources.add(subresource);
  });
  if (resources.length > 1 && resources.includes("*/*"))
    at.invalid("resources", resources, "if '*/*' is present, must not specify other resources");
  if (resources.includes("*") && isLastWithoutSubresource)
    at.invalid(
      "resources",
      resources,
      "if '*' is present, must not specify other resources without subresources",
    );
}

function validateReviewVersions(versions: readonly string[], rules: EnforcedRules, at: FieldErrors): void {
  const field = "admissionReviewVersions";
  if (versions.length === 0) {
    at.required(field, `must specify one of ${reviewVersions.join(", ")}`);
    return;
  }
  const seen = new Set<string>();
  versions.forEach((version, i) => {
    if (seen.has(version)) at.invalid(`${field}[${i}]`, version, "duplicate version");
    else at.problems(`${field}[${i}]`, version, dns1035LabelProblems(version));
    seen.add(version);
  });
  if (rules.recognizedReviewVersion && !versions.some((version) => reviewVersions.includes(version)))
    at.invalid(field, versions, `must include at least one of ${reviewVersions.join(", ")}`);
}
