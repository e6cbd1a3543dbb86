import type * as k8s from "@kubernetes/client-node";
import type { FieldErrors } from "../../meta/field-errors.ts";
import {
  dnsLabelProblems,
  dnsSubdomainProblems,
  labelValueProblems,
  qualifiedNameProblems,
} from "../../meta/names.ts";
import { validateLabelSelector, validateOperator } from "../../meta/validate-metadata.ts";

const required = "requiredDuringSchedulingIgnoredDuringExecution";
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";

export function validateAffinity(affinity: k8s.V1Affinity, at: FieldErrors): void {
  const { nodeAffinity, podAffinity, podAntiAffinity } = affinity;
  if (nodeAffinity) {
    const place = at.child("nodeAffinity");
    const selector = nodeAffinity[required];
    if (selector) validateNodeSelector(selector, place.child(required));
    place.each(preferred, nodeAffinity[preferred], validatePreference);
  }
  if (podAffinity) validatePodAffinity(podAffinity, at.child("podAffinity"));
  if (podAntiAffinity) validatePodAffinity(podAntiAffinity, at.child("podAntiAffinity"));
}

export function validateNodeSelector(selector: k8s.V1NodeSelector, at: FieldErrors): void {
  if (!selector.nodeSelectorTerms?.length) {
    at.required("nodeSelectorTerms", "must have at least one node selector term");
  }
  at.each("nodeSelectorTerms", selector.nodeSelectorTerms, (term, place) => {
    place.each("matchExpressions", term.matchExpressions, validateNodeExpression);
    place.each("matchFields", term.matchFields, validateNodeField);
  });
}

function validatePreference({ weight, preference }: k8s.V1PreferredSchedulingTerm, at: FieldErrors): void {
  validateWeight(weight, at);
  const place = at.child("preference");
  // Upstream does not validate label values of preferences.
  place.each("matchExpressions", preference?.matchExpressions, validateNodeRequirement);
  place.each("matchFields", preference?.matchFields, validateNodeField);
}

function validateWeight(weight: number, at: FieldErrors): void {
  if (weight <= 0 || weight > 100) at.invalid("weight", weight, "must be in the range 1-100");
}

function validateNodeExpression(requirement: k8s.V1NodeSelectorRequirement, at: FieldErrors): void {
  validateNodeRequirement(requirement, at);
  requirement.values?.forEach((value, i) => {
    at.problems(`values[${i}]`, value, labelValueProblems(value));
  });
}

function validateNodeRequirement(requirement: k8s.V1NodeSelectorRequirement, at: FieldErrors): void {
  const { key, operator, values = [] } = requirement;
  if (operator !== "Gt" && operator !== "Lt") {
    validateOperator(requirement, at);
    return;
  }
  if (values.length !== 1) {
    at.required("values", "must be specified single value when `operator` is 'Lt' or 'Gt'");
  }
  at.problems("key", key, qualifiedNameProblems(key));
}

function validateNodeField(requirement: k8s.V1NodeSelectorRequirement, at: FieldErrors): void {
  const { key, operator, values = [] } = requirement;
  if (operator !== "In" && operator !== "NotIn") {
    at.invalid("operator", operator, "not a valid selector operator");
  } else if (values.length !== 1) {
    const detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
    at.required("values", detail);
  }
  if (key !== "metadata.name") at.invalid("key", key, "not a valid field selector key");
  else {
    values.forEach((value, i) => {
      at.problems(`values[${i}]`, value, dnsSubdomainProblems(value));
    });
  }
}

function validatePodAffinity(affinity: k8s.V1PodAffinity, at: FieldErrors): void {
  at.each(required, affinity[required], validatePodAffinityTerm);
  at.each(preferred, affinity[preferred], (weighted, place) => {
    validateWeight(weighted.weight, place);
    validatePodAffinityTerm(weighted.podAffinityTerm, place.child("podAffinityTerm"));
  });
}

function validatePodAffinityTerm(term: k8s.V1PodAffinityTerm, at: FieldErrors): void {
  validateLabelSelector(term.labelSelector, at.child("labelSelector"));
  validateLabelSelector(term.namespaceSelector, at.child("namespaceSelector"));
  for (const name of term.namespaces ?? []) at.problems("namespace", name, dnsLabelProblems(name));
  validateMatchLabelKeys(term, at);
  if (!term.topologyKey) at.required("topologyKey", "can not be empty");
  at.problems("topologyKey", term.topologyKey ?? "", qualifiedNameProblems(term.topologyKey ?? ""));
}

/** Validates label keys whose values are merged into the selector when the pod is created. */
function validateMatchLabelKeys(
  term: Pick<k8s.V1PodAffinityTerm, "matchLabelKeys" | "mismatchLabelKeys" | "labelSelector">,
  at: FieldErrors,
): void {
  const { matchLabelKeys = [], mismatchLabelKeys = [], labelSelector } = term;
  for (const [field, keys] of Object.entries({ matchLabelKeys, mismatchLabelKeys })) {
    if (keys.length > 0 && !labelSelector) {
      at.forbidden(field, "must not be specified when labelSelector is not set");
      continue;
    }
    keys.forEach((key, i) => {
      at.problems(`${field}[${i}]`, key, qualifiedNameProblems(key));
    });
  }
  // The selector contains the merged requirement; only a second one for the same key is a conflict.
  const indexes = new Map(matchLabelKeys.map((key, i) => [key, i]));
  const selected = new Set(Object.keys(labelSelector?.matchLabels ?? {}));
  for (const { key } of labelSelector?.matchExpressions ?? []) {
    const i = indexes.get(key);
    if (i !== undefined && selected.has(key)) {
      at.invalid(`[${i}]`, key, "exists in both matchLabelKeys and labelSelector");
    }
    selected.add(key);
  }
  const mismatched = new Set(mismatchLabelKeys);
  matchLabelKeys.forEach((key, i) => {
    if (mismatched.has(key)) {
      at.invalid(`matchLabelKeys[${i}]`, key, "exists in both matchLabelKeys and mismatchLabelKeys");
    }
  });
}

export const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export function validateToleration(toleration: k8s.V1Toleration, at: FieldErrors): void {
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

/** Allowed operators for messages. Upstream lists Lt and Gt, although their gate is disabled by default in 1.36. */
function tolerationOperators(operator: string): string[] {
  const comparison = operator === "Lt" || operator === "Gt";
  return comparison ? ["Equal", "Exists", "Lt", "Gt"] : ["Equal", "Exists"];
}

export function validateSchedulingGates(gates: k8s.V1PodSchedulingGate[], at: FieldErrors): void {
  const seen = new Set<string>();
  at.each("", gates, ({ name }, place) => {
    place.problems("", name, qualifiedNameProblems(name));
    if (seen.has(name)) place.duplicate("", name);
    seen.add(name);
  });
}

export function validateTopologySpread(constraints: k8s.V1TopologySpreadConstraint[], at: FieldErrors): void {
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
