import type * as k8s from "@kubernetes/client-node";
import { dnsLabelProblems } from "../names.ts";
import { compareQuantities, parseQuantity, type Quantity } from "../quantity.ts";
import type { Report } from "./report.ts";
import { containerResourceNameProblems, isCounted, isHugePages, mayOvercommit } from "./resource-name.ts";

type ResourceList = Record<string, string>;
type ValidateName = (name: string, at: Report) => void;

export interface RequirementRules {
  /** What the pod declares in `spec.resourceClaims`. */
  readonly claimNames: ReadonlySet<string>;
  readonly validateName?: ValidateName;
}

export function validateResourceRequirements(
  resources: k8s.V1ResourceRequirements,
  at: Report,
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

function validateContainerResourceName(name: string, at: Report): void {
  at.problems("", name, containerResourceNameProblems(name));
}

function validateAmounts(list: ResourceList, at: Report, validateName: ValidateName): void {
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

export function validateAmount(name: string, amount: string, at: Report): void {
  const { nanos } = parseQuantity(amount);
  if (nanos < 0n) at.invalid("", amount, "must be greater than or equal to 0");
  if (isCounted(name) && nanos % 1_000_000_000n !== 0n) at.invalid("", amount, "must be an integer");
}

/** `hugepages-2Mi` says how large a page is. */
function isMultipleOfPage(name: string, { nanos }: Quantity): boolean {
  try {
    const page = parseQuantity(name.slice("hugepages-".length)).nanos;
    return page > 0n && nanos % page === 0n;
  } catch {
    return false;
  }
}

function validateRequestsWithinLimits(requests: ResourceList, limits: ResourceList, at: Report): void {
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

function validateClaims(claims: k8s.CoreV1ResourceClaim[], at: Report, podClaims: ReadonlySet<string>): void {
  const known = "pod.spec.resourceClaims";
  const listed =
    podClaims.size > 0 ? `${known}: ${[...podClaims].sort().join(", ")}` : `${known} which is empty`;
  const whole = new Set<string>();
  const parts = new Set<string>();
  at.each("", claims, ({ name, request }, claim) => {
    if (!name) return claim.required("");
    if (request) claim.problems("request", request, dnsLabelProblems(request));
    const key = request ? `${name}/${request}` : name;
    // Who has all of a claim cannot have a part of it as well.
    if (whole.has(name) || (!request && parts.has(name))) claim.duplicate("", name);
    else if (parts.has(key)) claim.duplicate("", key);
    if (request) parts.add(name).add(key);
    else whole.add(name);
    if (!podClaims.has(name)) claim.notFound("", name, `must be one of the names in ${listed}`);
  });
}
