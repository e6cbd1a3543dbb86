import type * as k8s from "@kubernetes/client-node";
import {
  dnsLabelProblems,
  dnsSubdomainProblems,
  labelValueProblems,
  qualifiedNameProblems,
} from "../names.ts";
import { validateLabelSelector, validateOperator } from "./labels.ts";
import type { Report } from "./report.ts";

const required = "requiredDuringSchedulingIgnoredDuringExecution";
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";

export function validateAffinity(affinity: k8s.V1Affinity, at: Report): void {
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

export function validateNodeSelector(selector: k8s.V1NodeSelector, at: Report): void {
  if (!selector.nodeSelectorTerms?.length) {
    at.required("nodeSelectorTerms", "must have at least one node selector term");
  }
  at.each("nodeSelectorTerms", selector.nodeSelectorTerms, (term, place) => {
    place.each("matchExpressions", term.matchExpressions, validateNodeExpression);
    place.each("matchFields", term.matchFields, validateNodeField);
  });
}

function validatePreference({ weight, preference }: k8s.V1PreferredSchedulingTerm, at: Report): void {
  validateWeight(weight, at);
  const place = at.child("preference");
  // A wish for a label value that no node can have is harmless, and was always allowed.
  place.each("matchExpressions", preference?.matchExpressions, validateNodeRequirement);
  place.each("matchFields", preference?.matchFields, validateNodeField);
}

function validateWeight(weight: number, at: Report): void {
  if (weight <= 0 || weight > 100) at.invalid("weight", weight, "must be in the range 1-100");
}

function validateNodeExpression(requirement: k8s.V1NodeSelectorRequirement, at: Report): void {
  validateNodeRequirement(requirement, at);
  requirement.values?.forEach((value, i) => {
    at.problems(`values[${i}]`, value, labelValueProblems(value));
  });
}

function validateNodeRequirement(requirement: k8s.V1NodeSelectorRequirement, at: Report): void {
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

function validateNodeField(requirement: k8s.V1NodeSelectorRequirement, at: Report): void {
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

function validatePodAffinity(affinity: k8s.V1PodAffinity, at: Report): void {
  at.each(required, affinity[required], validatePodAffinityTerm);
  at.each(preferred, affinity[preferred], (weighted, place) => {
    validateWeight(weighted.weight, place);
    validatePodAffinityTerm(weighted.podAffinityTerm, place.child("podAffinityTerm"));
  });
}

function validatePodAffinityTerm(term: k8s.V1PodAffinityTerm, at: Report): void {
  validateLabelSelector(term.labelSelector, at.child("labelSelector"));
  validateLabelSelector(term.namespaceSelector, at.child("namespaceSelector"));
  for (const name of term.namespaces ?? []) at.problems("namespace", name, dnsLabelProblems(name));
  validateMatchLabelKeys(term, at);
  if (!term.topologyKey) at.required("topologyKey", "can not be empty");
  at.problems("topologyKey", term.topologyKey ?? "", qualifiedNameProblems(term.topologyKey ?? ""));
}

/** Keys whose values are taken from the pod itself, merged into the selector when it is created. */
export function validateMatchLabelKeys(
  term: Pick<k8s.V1PodAffinityTerm, "matchLabelKeys" | "mismatchLabelKeys" | "labelSelector">,
  at: Report,
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
  // The merged requirement itself is in the selector: only a second one for the same key is a clash.
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
