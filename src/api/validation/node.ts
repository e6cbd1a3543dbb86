import type * as k8s from "@kubernetes/client-node";
import type { FieldError } from "../field-error.ts";
import { isEqual } from "../is-equal.ts";
import { labelValueProblems, qualifiedNameProblems } from "../names.ts";
import type { Node, Wire } from "../objects.ts";
import { cidrProblems, ipFamilyOf } from "./ip.ts";
import { Report } from "./report.ts";
import { validateAmount } from "./resources.ts";
import { taintEffects } from "./scheduling.ts";

export function validateNode(node: Node): FieldError[] {
  const at = new Report("");
  validateShared(node, at);
  const cidrs = node.spec?.podCIDRs ?? [];
  cidrs.forEach((cidr, i) => {
    at.problems(`spec.podCIDRs[${i}]`, cidr, cidrProblems(cidr));
  });
  const families = new Set(cidrs.map((cidr) => ipFamilyOf(cidr.split("/", 1)[0] ?? "")));
  if (families.size < cidrs.length) {
    at.invalid("spec.podCIDRs", cidrs, "may specify no more than one CIDR for each IP family");
  }
  return at.errors;
}

export function validateNodeUpdate(next: Node, current: Node): FieldError[] {
  const at = new Report("");
  validateShared(next, at);
  const seen = new Set<string>();
  at.each("status.addresses", next.status?.addresses, (address, place) => {
    const key = `${address.type}/${address.address}`;
    if (seen.has(key)) place.duplicate("", address);
    seen.add(key);
  });
  const before = current.spec ?? {};
  if (before.podCIDRs?.length && !isEqual(next.spec?.podCIDRs, before.podCIDRs)) {
    at.forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid');
  }
  const { providerID } = next.spec ?? {};
  if (before.providerID && providerID !== before.providerID) {
    at.forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid');
  }
  return at.errors;
}

function validateShared({ spec, status }: Node, at: Report): void {
  if (spec?.taints) validateTaints(spec.taints, at);
  for (const field of ["capacity", "allocatable"] as const) {
    const list = status?.[field];
    for (const name in list) validateAmount(name, list[name] ?? "0", at.child(`status.${field}.${name}`));
  }
}

/** Upstream reports taints below the metadata. */
function validateTaints(taints: Wire<k8s.V1Taint>[], at: Report): void {
  const seen = new Set<string>();
  at.each("metadata.taints", taints, (taint, place) => {
    const { key, value = "", effect } = taint;
    place.problems("key", key, qualifiedNameProblems(key));
    const problems = labelValueProblems(value);
    if (problems.length > 0) place.invalid("value", value, problems.join(";"));
    place.requiredOneOf("effect", effect, taintEffects);
    if (seen.has(`${key}/${effect}`))
      place.duplicate("", taint, "taints must be unique by key and effect pair");
    seen.add(`${key}/${effect}`);
  });
}
