import type * as k8s from "@kubernetes/client-node";
import { labelValueProblems, qualifiedNameProblems } from "../names.ts";
import { validateMatchLabelKeys } from "./affinity.ts";
import { validateLabelSelector } from "./labels.ts";
import type { Report } from "./report.ts";

export const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export function validateToleration(toleration: k8s.V1Toleration, at: Report): void {
  const { key, operator = "", value = "", effect = "", tolerationSeconds } = toleration;
  if (key) at.problems("key", key, qualifiedNameProblems(key));
  else if (operator !== "Exists") {
    const detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    at.invalid("operator", operator, detail);
  }
  if (tolerationSeconds !== undefined && effect !== "NoExecute") {
    at.invalid("effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
  }
  switch (operator) {
    case "":
    case "Equal": {
      const problems = labelValueProblems(value);
      if (problems.length > 0) at.invalid("operator", value, problems.join(";"));
      break;
    }
    case "Exists":
      if (value) at.invalid("operator", value, "value must be empty when `operator` is 'Exists'");
      break;
    default:
      at.notSupported("operator", operator, tolerationOperators(operator));
  }
  if (effect) at.oneOf("effect", effect, taintEffects);
}

/** Comparisons are known, and named, but not yet switched on in 1.36. */
function tolerationOperators(operator: string): string[] {
  const comparison = operator === "Lt" || operator === "Gt";
  return comparison ? ["Equal", "Exists", "Lt", "Gt"] : ["Equal", "Exists"];
}

export function validateSchedulingGates(gates: k8s.V1PodSchedulingGate[], at: Report): void {
  const seen = new Set<string>();
  at.each("", gates, ({ name }, place) => {
    place.problems("", name, qualifiedNameProblems(name));
    if (seen.has(name)) place.duplicate("", name);
    seen.add(name);
  });
}

export function validateTopologySpread(constraints: k8s.V1TopologySpreadConstraint[], at: Report): void {
  const pairOf = (constraint: k8s.V1TopologySpreadConstraint) =>
    `{${constraint.topologyKey}, ${constraint.whenUnsatisfiable}}`;
  const last = new Map(constraints.map((constraint) => [pairOf(constraint), constraint]));
  at.each("", constraints, (constraint, place) => {
    const { maxSkew, topologyKey, whenUnsatisfiable, minDomains } = constraint;
    place.positive("maxSkew", maxSkew ?? 0);
    if (!topologyKey) place.required("topologyKey", "can not be empty");
    place.oneOf("whenUnsatisfiable", whenUnsatisfiable ?? "", ["DoNotSchedule", "ScheduleAnyway"]);
    const pair = pairOf(constraint);
    if (last.get(pair) !== constraint) place.duplicate("{topologyKey, whenUnsatisfiable}", pair);
    if (minDomains !== undefined) {
      place.positive("minDomains", minDomains);
      if (whenUnsatisfiable !== "DoNotSchedule") {
        const detail = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`;
        place.invalid("minDomains", minDomains, detail);
      }
    }
    place.oneOf("nodeAffinityPolicy", constraint.nodeAffinityPolicy, ["Honor", "Ignore"]);
    place.oneOf("nodeTaintsPolicy", constraint.nodeTaintsPolicy, ["Honor", "Ignore"]);
    validateMatchLabelKeys(constraint, place);
    validateLabelSelector(constraint.labelSelector, place.child("labelSelector"));
  });
}
