import type * as k8s from "@kubernetes/client-node";
import { isEqual } from "../is-equal.ts";
import type { PodSpec } from "../objects.ts";
import type { Report } from "./report.ts";

/**
 * A gated pod's node selector and node affinity may become stricter, never laxer. Returns the spec with both put
 * back to what they were.
 */
export function validateGatedChanges(after: PodSpec, before: PodSpec, at: Report): PodSpec {
  const rest = { ...after };
  if (!isEqual(after.nodeSelector, before.nodeSelector)) {
    validateSelectorMutation(after.nodeSelector ?? {}, before.nodeSelector ?? {}, at);
    rest.nodeSelector = before.nodeSelector;
  }
  const nodeAffinity = before.affinity?.nodeAffinity;
  if (!isEqual(after.affinity?.nodeAffinity, nodeAffinity)) {
    validateAffinityMutation(after.affinity?.nodeAffinity, nodeAffinity, at);
    const affinity = { ...after.affinity, nodeAffinity };
    rest.affinity = Object.values(affinity).some(Boolean) ? affinity : before.affinity;
  }
  return rest;
}

function validateSelectorMutation(
  after: Record<string, string>,
  before: Record<string, string>,
  at: Report,
): void {
  if (Object.entries(before).every(([key, value]) => after[key] === value)) return;
  const detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
  at.invalid("nodeSelector", after, detail);
}

function validateAffinityMutation(
  after: k8s.V1NodeAffinity | undefined,
  before: k8s.V1NodeAffinity | undefined,
  at: Report,
): void {
  const field = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
  const oldTerms = termsOf(before);
  const newTerms = termsOf(after);
  if (oldTerms.length > 0 && oldTerms.length !== newTerms.length) {
    const detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
    at.invalid(field, newTerms, detail);
    return;
  }
  oldTerms.forEach((oldTerm, i) => {
    const newTerm = newTerms[i] ?? {};
    if (!onlyAdds(newTerm, oldTerm)) {
      at.invalid(`${field}[${i}]`, newTerm, "only additions are allowed (no mutations or deletions)");
    }
  });
}

function termsOf(affinity: k8s.V1NodeAffinity | undefined): k8s.V1NodeSelectorTerm[] {
  return affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
}

/** An empty term matches nothing: what is added to it would match more. */
function onlyAdds(after: k8s.V1NodeSelectorTerm, before: k8s.V1NodeSelectorTerm): boolean {
  const { matchExpressions: oldExpressions = [], matchFields: oldFields = [] } = before;
  const { matchExpressions: newExpressions = [], matchFields: newFields = [] } = after;
  if (oldExpressions.length + oldFields.length === 0) return newExpressions.length + newFields.length === 0;
  return (
    isEqual(newExpressions.slice(0, oldExpressions.length), oldExpressions) &&
    isEqual(newFields.slice(0, oldFields.length), oldFields)
  );
}
