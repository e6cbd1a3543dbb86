import type {
  Container,
  LimitRange,
  LimitRangeItem,
  PersistentVolumeClaim,
  Pod,
} from "../../api/meta/objects.ts";
import {
  formatQuantity,
  maxMilliValue,
  milliUnits,
  parseQuantity,
  type Quantity,
  wholeUnits,
} from "../../api/meta/quantity.ts";
import { containerTotals } from "../../api/pod/pod-resources.ts";

type ResourceList = Readonly<Record<string, string>>;

interface Amounts {
  readonly requests: ResourceList;
  readonly limits: ResourceList;
}

const annotation = "kubernetes.io/limit-ranger";

/** Sets requests and limits that containers of a pod lack to the defaults of a LimitRange, and annotates the pod. */
export function applyLimitRangeDefaults(pod: Pod, { spec }: LimitRange): void {
  const items = (spec?.limits ?? []).filter(({ type }) => type === "Container");
  const limits = Object.assign({}, ...items.map((item) => item.default));
  const requests = Object.assign({}, ...items.map((item) => item.defaultRequest));
  const changes: string[] = [];
  const fill = (container: Container, what: string) => {
    const added = {
      requests: fillIn(container, "requests", requests),
      limits: fillIn(container, "limits", limits),
    };
    if (added.requests) changes.push(`${added.requests} request for ${what} ${container.name}`);
    if (added.limits) changes.push(`${added.limits} limit for ${what} ${container.name}`);
  };
  for (const container of pod.spec?.containers ?? []) fill(container, "container");
  for (const container of pod.spec?.initContainers ?? []) fill(container, "init container");
  if (changes.length === 0) return;
  pod.metadata.annotations ??= {};
  pod.metadata.annotations[annotation] = `LimitRanger plugin set: ${changes.join("; ")}`;
}

/** Sets missing amounts. Returns the names of the resources, sorted. */
function fillIn(container: Container, kind: "requests" | "limits", defaults: ResourceList): string {
  const own = container.resources?.[kind] ?? {};
  const missing = Object.keys(defaults).filter((name) => own[name] === undefined);
  if (missing.length === 0) return "";
  container.resources = { ...container.resources, [kind]: { ...defaults, ...own } };
  return missing.sort().join(", ");
}

/** Why a pod violates a LimitRange. Undefined if it does not. */
export function podLimitProblem({ spec }: Pod, limitRange: LimitRange): string | undefined {
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  const problems = (limitRange.spec?.limits ?? []).flatMap((item) => {
    if (item.type === "Container")
      return containers.flatMap(({ resources }) => itemProblems(item, amountsOf(resources)));
    if (item.type !== "Pod") return [];
    return itemProblems(item, { requests: podAmounts(spec, "requests"), limits: podAmounts(spec, "limits") });
  });
  return joinProblems(problems);
}

/** Why a claim violates a LimitRange. Undefined if it does not. Limits of claims do not count, as upstream. */
export function claimLimitProblem(claim: PersistentVolumeClaim, { spec }: LimitRange): string | undefined {
  const requests = claim.spec?.resources?.requests ?? {};
  const items = (spec?.limits ?? []).filter(({ type }) => type === "PersistentVolumeClaim");
  const problems = items.flatMap(({ type, min, max }) => [
    ...eachOf(min, (name, least) => minProblem(type, name, least, { requests, limits: {} })),
    ...eachOf(max, (name, most) => maxRequestProblem(type, name, most, requests)),
  ]);
  return joinProblems(problems);
}

function amountsOf(resources: Container["resources"]): Amounts {
  return { requests: resources?.requests ?? {}, limits: resources?.limits ?? {} };
}

/** Total of the containers, or what the pod itself declares of CPU and memory. Huge pages of the pod do not count. */
function podAmounts(spec: Pod["spec"], kind: "requests" | "limits"): ResourceList {
  const totals = [...containerTotals(spec, kind)].map(([name, amount]) => [name, formatQuantity(amount)]);
  const { cpu, memory } = spec?.resources?.[kind] ?? {};
  return { ...Object.fromEntries(totals), ...(cpu && { cpu }), ...(memory && { memory }) };
}

function itemProblems({ type, min, max, maxLimitRequestRatio }: LimitRangeItem, amounts: Amounts): string[] {
  return [
    ...eachOf(min, (name, least) => minProblem(type, name, least, amounts)),
    ...eachOf(max, (name, most) => maxProblem(type, name, most, amounts)),
    ...eachOf(maxLimitRequestRatio, (name, ratio) => ratioProblem(type, name, ratio, amounts)),
  ];
}

function eachOf(
  list: ResourceList | undefined,
  check: (name: string, amount: string) => string | undefined,
): string[] {
  return Object.entries(list ?? {}).flatMap(([name, amount]) => check(name, amount) ?? []);
}

function minProblem(type: string, name: string, least: string, { requests, limits }: Amounts) {
  const head = `minimum ${name} usage per ${type} is ${least}`;
  const request = requests[name];
  const limit = limits[name];
  const units = commonUnits(request, limit, least);
  if (request === undefined) return `${head}.  No request is specified`;
  if (units(request) < units(least)) return `${head}, but request is ${request}`;
  if (limit !== undefined && units(limit) < units(least)) return `${head}, but limit is ${limit}`;
}

function maxRequestProblem(type: string, name: string, most: string, requests: ResourceList) {
  const head = `maximum ${name} usage per ${type} is ${most}`;
  const request = requests[name];
  const units = commonUnits(request, most);
  if (request === undefined) return `${head}.  No request is specified`;
  if (units(request) > units(most)) return `${head}, but request is ${request}`;
}

function maxProblem(type: string, name: string, most: string, { requests, limits }: Amounts) {
  const head = `maximum ${name} usage per ${type} is ${most}`;
  const request = requests[name];
  const limit = limits[name];
  const units = commonUnits(request, limit, most);
  if (limit === undefined) return `${head}.  No limit is specified`;
  if (units(limit) > units(most)) return `${head}, but limit is ${limit}`;
  if (request !== undefined && units(request) > units(most)) return `${head}, but request is ${request}`;
}

function ratioProblem(type: string, name: string, most: string, { requests, limits }: Amounts) {
  const head = `${name} max limit to request ratio per ${type} is ${most}`;
  const request = requests[name];
  const limit = limits[name];
  const units = commonUnits(request, limit, most);
  if (request === undefined || units(request) === 0)
    return `${head}, but no request is specified or request is 0`;
  if (limit === undefined || units(limit) === 0) return `${head}, but no limit is specified or limit is 0`;
  const ratio = units(limit) / units(request);
  const allowed = parseQuantity(most);
  const isPrecise = wholeUnits(allowed) <= maxMilliValue;
  const isExceeded = isPrecise ? ratio * 1000 > milliUnits(allowed) : ratio > wholeUnits(allowed);
  if (isExceeded) return `${head}, but provided ratio is ${ratio.toFixed(6)}`;
}

/** Compares in thousandths if all amounts are small enough, else in whole units, as upstream. */
function commonUnits(...amounts: readonly (string | undefined)[]): (amount: string) => number {
  const isSmall = amounts.every(
    (each) => each === undefined || wholeUnits(parseQuantity(each)) <= maxMilliValue,
  );
  const units: (quantity: Quantity) => number = isSmall ? milliUnits : wholeUnits;
  return (amount) => units(parseQuantity(amount));
}

/** Formats several errors as one: `[first, second]`, without duplicates. */
function joinProblems(problems: readonly string[]): string | undefined {
  const distinct = [...new Set(problems)];
  return distinct.length > 1 ? `[${distinct.join(", ")}]` : distinct[0];
}
