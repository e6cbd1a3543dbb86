import type * as k8s from "@kubernetes/client-node";
import type { FieldErrors } from "../../meta/field-errors.ts";
import { dnsLabelProblems, qualifiedNameProblems } from "../../meta/names.ts";
import type { PodSpec } from "../../meta/objects.ts";
import { compareQuantities, formatQuantity, parseQuantity, type Quantity } from "../../meta/quantity.ts";
import { containerTotals, isPodResource } from "../pod-resources.ts";

type ResourceList = Record<string, string>;
type ValidateName = (name: string, at: FieldErrors) => void;

export interface RequirementRules {
  /** Names in `spec.resourceClaims` of the pod. */
  readonly claimNames: ReadonlySet<string>;
  readonly validateName?: ValidateName;
}

export function validateResourceRequirements(
  resources: k8s.V1ResourceRequirements,
  at: FieldErrors,
  rules: RequirementRules,
): void {
  const { limits, requests, claims } = resources;
  if (!limits && !requests && !claims) return;
  const validateName = rules.validateName ?? validateContainerResourceName;
  if (limits) validateAmounts(limits, at.child("limits"), validateName);
  if (requests) {
    validateAmounts(requests, at.child("requests"), validateName);
    validateRequestsWithinLimits(requests, limits ?? {}, at);
  }
  const names = Object.keys({ ...limits, ...requests });
  if (names.some(isHugePages) && !names.includes("cpu") && !names.includes("memory")) {
    at.forbidden("", "HugePages require cpu or memory");
  }
  if (claims) validateClaims(claims, at.child("claims"), rules.claimNames);
}

function validateContainerResourceName(name: string, at: FieldErrors): void {
  at.problems("", name, containerResourceNameProblems(name));
}

function validateAmounts(list: ResourceList, at: FieldErrors, validateName: ValidateName): void {
  for (const name in list) {
    const place = at.child(`[${name}]`);
    validateName(name, place);
    const amount = list[name] ?? "0";
    validateAmount(name, amount, place);
    if (isHugePages(name) && !isMultipleOfPage(name, parseQuantity(amount))) {
      at.invalid(`[${name}]`, amount, `${amount} is not positive integer multiple of ${name}`);
    }
  }
}

export function validateAmount(name: string, amount: string, at: FieldErrors): void {
  const { nanos } = parseQuantity(amount);
  if (nanos < 0n) at.invalid("", amount, "must be greater than or equal to 0");
  if (isCounted(name) && nanos % 1_000_000_000n !== 0n) at.invalid("", amount, "must be an integer");
}

/** Whether an amount of huge pages is a multiple of the page size in the name (`hugepages-2Mi`). */
function isMultipleOfPage(name: string, { nanos }: Quantity): boolean {
  try {
    const page = parseQuantity(name.slice("hugepages-".length)).nanos;
    return page > 0n && nanos % page === 0n;
  } catch {
    return false;
  }
}

function validateRequestsWithinLimits(requests: ResourceList, limits: ResourceList, at: FieldErrors): void {
  for (const name in requests) {
    const request = requests[name] ?? "0";
    const limit = limits[name];
    if (limit === undefined) {
      if (!mayOvercommit(name)) at.required("limits", "Limit must be set for non overcommitable resources");
      continue;
    }
    if (request === limit) continue;
    const order = compareQuantities(parseQuantity(request), parseQuantity(limit));
    if (order !== 0 && !mayOvercommit(name)) {
      at.invalid("requests", request, `must be equal to ${name} limit of ${limit}`);
    } else if (order > 0) {
      at.invalid("requests", request, `must be less than or equal to ${name} limit of ${limit}`);
    }
  }
}

function validateClaims(
  claims: k8s.CoreV1ResourceClaim[],
  at: FieldErrors,
  podClaims: ReadonlySet<string>,
): void {
  const known = "pod.spec.resourceClaims";
  const listed =
    podClaims.size > 0 ? `${known}: ${[...podClaims].sort().join(", ")}` : `${known} which is empty`;
  const whole = new Set<string>();
  const parts = new Set<string>();
  at.each("", claims, ({ name, request }, claim) => {
    if (!name) return claim.required("");
    if (request) claim.problems("request", request, dnsLabelProblems(request));
    const key = request ? `${name}/${request}` : name;
    // A container cannot refer to a claim as a whole and to a request of it.
    if (whole.has(name) || (!request && parts.has(name))) claim.duplicate("", name);
    else if (parts.has(key)) claim.duplicate("", key);
    if (request) parts.add(name).add(key);
    else whole.add(name);
    if (!podClaims.has(name)) claim.notFound("", name, `must be one of the names in ${listed}`);
  });
}

/** Resources without a domain that containers may request. */
const containerResources = new Set(["cpu", "memory", "ephemeral-storage"]);

/** Resources that quotas count in whole numbers. */
const countedResources = new Set([
  "pods",
  "resourcequotas",
  "services",
  "replicationcontrollers",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "services.nodeports",
  "services.loadbalancers",
]);

/** All known resource names without a domain, including those of quotas. */
const standardResources = new Set([
  ...containerResources,
  ...countedResources,
  "requests.cpu",
  "requests.memory",
  "requests.ephemeral-storage",
  "limits.cpu",
  "limits.memory",
  "limits.ephemeral-storage",
  "storage",
  "requests.storage",
]);

/** Whether the name without a domain is one of quotas. */
export function isQuotaResource(name: string): boolean {
  if (isHugePages(name) || name.startsWith("requests.hugepages-")) return true;
  return standardResources.has(name) && name !== "storage";
}

function isHugePages(name: string): boolean {
  return name.startsWith("hugepages-");
}

/** Whether a resource is in the kubernetes.io domain, explicitly or by default. */
export function isNative(name: string): boolean {
  return !name.includes("/") || name.includes("kubernetes.io/");
}

export function isExtended(name: string): boolean {
  return (
    !isNative(name) && !name.startsWith("requests.") && qualifiedNameProblems(`requests.${name}`).length === 0
  );
}

/** Whether amounts of the resource must be whole numbers. */
function isCounted(name: string): boolean {
  return countedResources.has(name) || isExtended(name);
}

/** Whether a request may be lower than the limit. */
export function mayOvercommit(name: string): boolean {
  return isNative(name) && !isHugePages(name);
}

export function resourceNameProblems(name: string): readonly string[] {
  const problems = qualifiedNameProblems(name);
  if (problems.length > 0 || name.includes("/") || standardResources.has(name)) return problems;
  if (isHugePages(name) || name.startsWith("requests.hugepages-")) return problems;
  return ["must be a standard resource type or fully qualified"];
}

export function containerResourceNameProblems(name: string): readonly string[] {
  if (containerResources.has(name)) return [];
  const problems = resourceNameProblems(name);
  if (!name.includes("/")) {
    return isHugePages(name) ? problems : [...problems, "must be a standard resource for containers"];
  }
  if (isNative(name) || isExtended(name)) return problems;
  return [...problems, "doesn't follow extended resource name standard"];
}

/** Validates pod-level resources, which the containers share. */
export function validatePodResources(spec: PodSpec, at: FieldErrors, claimNames: ReadonlySet<string>): void {
  const { resources } = spec;
  if (!resources) return;
  if (spec.os?.name === "windows") {
    at.forbidden("", "may not be set for a windows pod");
    return;
  }
  if (resources.claims) at.forbidden("claims", "claims may not be set for Resources at pod-level");
  validateResourceRequirements(resources, at, { claimNames, validateName: validatePodResourceName });

  for (const [name, needed] of containerTotals(spec, "requests")) {
    const given = resources.requests?.[name];
    if (given !== undefined && compareQuantities(needed, parseQuantity(given)) > 0) {
      const detail = `must be greater than or equal to aggregate container requests of ${formatQuantity(needed)}`;
      at.invalid(`requests[${name}]`, given, detail);
    }
  }
  for (const [name, needed] of containerTotals(spec, "limits")) {
    const given = resources.limits?.[name];
    if (!isHugePages(name) || given === undefined) continue;
    if (compareQuantities(needed, parseQuantity(given)) > 0) {
      const detail = `must be greater than or equal to aggregate container limits of ${formatQuantity(needed)}`;
      at.invalid(`limits[${name}]`, given, detail);
    }
  }
  at.each("containers", spec.containers, (container, place) => {
    for (const [name, limit] of Object.entries(container.resources?.limits ?? {})) {
      const given = resources.limits?.[name];
      if (given !== undefined && compareQuantities(parseQuantity(limit), parseQuantity(given)) > 0) {
        place.invalid(`[${name}].limits`, limit, `must be less than or equal to pod limits of ${given}`);
      }
    }
  });
}

function validatePodResourceName(name: string, at: FieldErrors): void {
  const problems = resourceNameProblems(name);
  at.problems("", name, problems);
  if (problems.length === 0 && !isPodResource(name))
    at.notSupported("", name, ["cpu", "hugepages-", "memory"]);
}
