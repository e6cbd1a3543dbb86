import type * as k8s from "@kubernetes/client-node";
import { labelValueProblems, qualifiedNameProblems } from "../names.ts";
import type { Report } from "./report.ts";

export function validateLabels(labels: Record<string, string> | undefined, at: Report): void {
  for (const key in labels) {
    const value = labels[key] ?? "";
    at.problems("", key, qualifiedNameProblems(key));
    at.problems("", value, labelValueProblems(value));
  }
}

export function validateLabelSelector(selector: k8s.V1LabelSelector | undefined, at: Report): void {
  if (!selector) return;
  validateLabels(selector.matchLabels, at.child("matchLabels"));
  at.each("matchExpressions", selector.matchExpressions, validateRequirement);
}

function validateRequirement(requirement: k8s.V1LabelSelectorRequirement, at: Report): void {
  const { values = [] } = requirement;
  validateOperator(requirement, at);
  for (const [i, value] of values.entries()) at.problems(`values[${i}]`, value, labelValueProblems(value));
}

/** The operators that all selectors have, and the key. */
export function validateOperator(
  { key, operator, values = [] }: k8s.V1LabelSelectorRequirement,
  at: Report,
): void {
  if (operator === "In" || operator === "NotIn") {
    if (values.length === 0) at.required("values", "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    if (values.length > 0) {
      at.forbidden("values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    }
  } else {
    at.invalid("operator", operator, "not a valid selector operator");
  }
  at.problems("key", key, qualifiedNameProblems(key));
}
