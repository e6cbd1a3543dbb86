import type * as k8s from "@kubernetes/client-node";
import type { PodSpec } from "../../api/objects.ts";

type Labels = Record<string, string> | undefined;

/**
 * `matchLabelKeys` means "pods with the same value as mine": when a pod is made, its own values are written into
 * the selectors, so that nobody has to know them later.
 */
export function mergeLabelKeys(spec: PodSpec, labels: Labels): void {
  const { affinity, topologySpreadConstraints = [] } = spec;
  for (const constraint of topologySpreadConstraints) merge(constraint, labels);
  for (const side of [affinity?.podAffinity, affinity?.podAntiAffinity]) {
    for (const term of side?.requiredDuringSchedulingIgnoredDuringExecution ?? []) merge(term, labels);
    for (const { podAffinityTerm } of side?.preferredDuringSchedulingIgnoredDuringExecution ?? []) {
      merge(podAffinityTerm, labels);
    }
  }
}

type Term = Pick<k8s.V1PodAffinityTerm, "labelSelector" | "matchLabelKeys" | "mismatchLabelKeys">;

function merge({ labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] }: Term, labels: Labels): void {
  if (!labelSelector) return;
  const added = [
    ...requirements(matchLabelKeys, "In", labels),
    ...requirements(mismatchLabelKeys, "NotIn", labels),
  ];
  if (added.length > 0) {
    labelSelector.matchExpressions = [...(labelSelector.matchExpressions ?? []), ...added];
  }
}

function requirements(
  keys: readonly string[],
  operator: string,
  labels: Labels,
): k8s.V1LabelSelectorRequirement[] {
  return keys.flatMap((key) => {
    const value = labels?.[key];
    return value === undefined ? [] : [{ key, operator, values: [value] }];
  });
}
