import { loadConditionEngine } from "../../../api/kinds/admissionregistration/conditions/condition-engine.ts";
import type {
  CompiledCondition,
  ConditionInput,
  MatchResult,
} from "../../../api/kinds/admissionregistration/conditions/match-conditions.ts";
import type {
  Webhook,
  WebhookConfiguration,
} from "../../../api/kinds/admissionregistration/webhook/webhook.ts";
import type { KubeObject } from "../../../api/meta/objects.ts";
import type { Resource } from "../../../api/meta/resource.ts";
import { type LabelSelector, labelSelectorOf, matchesLabels } from "../../../api/meta/selector.ts";
import type { Lister } from "../../storage/lister.ts";
import type { Operation } from "../admission-chain.ts";

/** A webhook of a configuration, with its selectors parsed. */
export interface AdmissionWebhook {
  readonly webhook: Webhook;
  readonly configuration: string;
  /** Identifies the webhook among all configurations of its kind. */
  readonly id: string;
  readonly namespaceSelector: LabelSelector;
  readonly objectSelector: LabelSelector;
  /** Evaluates the match conditions. Undefined if there are none. */
  readonly match: ((input: ConditionInput) => Promise<MatchResult>) | undefined;
}

/** Returns all webhooks of a kind of configuration, ordered by the names of the configurations as upstream. */
export type WebhookSource = () => readonly AdmissionWebhook[];

export function createWebhookSource(configurations: Lister<WebhookConfiguration>): WebhookSource {
  let known: readonly AdmissionWebhook[] | undefined;
  /** By version of the configuration, so that a change of another one does not compile its conditions again. */
  let parsed: ReadonlyMap<string, readonly AdmissionWebhook[]> = new Map();
  configurations.onChange(() => {
    known = undefined;
  });
  return () => {
    if (known) return known;
    const current = [...configurations.all()].sort(byName).map((configuration) => {
      const { uid, resourceVersion } = configuration.metadata;
      const version = `${uid}/${resourceVersion}`;
      return [version, parsed.get(version) ?? webhooksOf(configuration)] as const;
    });
    parsed = new Map(current);
    known = current.flatMap(([, webhooks]) => webhooks);
    return known;
  };
}

function byName(a: KubeObject, b: KubeObject): number {
  const [left = "", right = ""] = [a.metadata.name, b.metadata.name];
  return left < right ? -1 : Number(left > right);
}

function webhooksOf({ metadata, webhooks = [] }: WebhookConfiguration): AdmissionWebhook[] {
  const configuration = metadata.name ?? "";
  const uses = new Map<string, number>();
  return webhooks.map((webhook) => {
    const use = uses.get(webhook.name) ?? 0;
    uses.set(webhook.name, use + 1);
    return {
      webhook,
      configuration,
      id: `${configuration}/${webhook.name}/${use}`,
      namespaceSelector: labelSelectorOf(webhook.namespaceSelector) ?? [],
      objectSelector: labelSelectorOf(webhook.objectSelector) ?? [],
      match: matcherOf(webhook),
    };
  });
}

/** Conditions are compiled on the first request that the webhook's rules and selectors match. */
function matcherOf({ matchConditions = [] }: Webhook): AdmissionWebhook["match"] {
  if (matchConditions.length === 0) return undefined;
  let compiled: readonly CompiledCondition[] | undefined;
  return async (input) => {
    const { compileCondition, evaluateConditions } = await loadConditionEngine();
    compiled ??= matchConditions.map(({ expression }) => compileCondition(expression));
    return evaluateConditions(compiled, input);
  };
}

/** What rules are compared with. `namespace` is the name of the object for a request about a namespace itself. */
export interface MatchFacts {
  readonly operation: Operation;
  readonly resource: Pick<Resource, "group" | "version" | "plural">;
  readonly subresource: string;
  readonly namespace: string;
}

/**
 * Returns the resource in whose version the webhook is called: that of the request, or an equivalent one that a rule names.
 * Undefined if no rule matches.
 */
export function matchRules<R extends MatchFacts["resource"]>(
  { rules = [], matchPolicy }: Webhook,
  facts: MatchFacts & { readonly resource: R },
  equivalents: () => readonly R[],
): R | undefined {
  if (rules.some((rule) => matchesRule(rule, facts))) return facts.resource;
  if (matchPolicy !== "Equivalent") return undefined;
  for (const rule of rules) {
    const found = equivalents().find((resource) => matchesRule(rule, { ...facts, resource }));
    if (found) return found;
  }
  return undefined;
}

type Rule = NonNullable<Webhook["rules"]>[number];

function matchesRule(rule: Rule, { operation, resource, subresource, namespace }: MatchFacts): boolean {
  const { group, version, plural } = resource;
  const isClusterScoped = namespace === "" || (group === "" && plural === "namespaces");
  if (rule.scope === "Cluster" && !isClusterScoped) return false;
  if (rule.scope === "Namespaced" && isClusterScoped) return false;
  return (
    includes(rule.operations, operation.toUpperCase()) &&
    includes(rule.apiGroups, group) &&
    includes(rule.apiVersions, version) &&
    (rule.resources ?? []).some((name) => matchesResource(name, plural, subresource))
  );
}

function includes(values: readonly string[] = [], value: string): boolean {
  return values.includes("*") || values.includes(value);
}

function matchesResource(name: string, plural: string, subresource: string): boolean {
  const slash = name.indexOf("/");
  const [resource, sub] = slash < 0 ? [name, ""] : [name.slice(0, slash), name.slice(slash + 1)];
  return (resource === "*" || resource === plural) && (sub === "*" || sub === subresource);
}

/** Whether the labels of the new or of the stored object match. */
export function matchesObject(
  selector: LabelSelector,
  objects: readonly (KubeObject | undefined)[],
): boolean {
  if (selector.length === 0) return true;
  return objects.some((object) => object !== undefined && matchesLabels(selector, object.metadata?.labels));
}
