import type * as k8s from "@kubernetes/client-node";
import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import { diffValues, isEqual } from "../../../meta/is-equal.ts";
import type { Container, Pod, PodSpec } from "../../../meta/objects.ts";
import { validatePodContent } from "../../../pod/validation/pod.ts";
import { validatePodAnnotationUpdate } from "../../../pod/validation/pod-annotations.ts";

const updatable = [
  "`spec.containers[*].image`",
  "`spec.initContainers[*].image`",
  "`spec.activeDeadlineSeconds`",
  "`spec.tolerations` (only additions to existing tolerations)",
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
].join(",");

/** Validates an update of a pod. Only a few fields of the spec may change. */
export function validatePodUpdate(next: Pod, current: Pod): FieldError[] {
  const at = new FieldErrors("spec", validatePodContent(next));
  validatePodAnnotationUpdate(
    next.metadata,
    current.metadata,
    new FieldErrors("metadata.annotations", at.errors),
  );
  const after = next.spec ?? { containers: [] };
  const before = current.spec ?? { containers: [] };
  if (after === before || isEqual(after, before)) return at.errors;

  for (const field of ["containers", "initContainers"] as const) {
    if ((after[field]?.length ?? 0) !== (before[field]?.length ?? 0)) {
      at.forbidden(field, "pod updates may not add or remove containers");
      return at.errors;
    }
  }
  validateDeadline(after.activeDeadlineSeconds, before.activeDeadlineSeconds, at);
  validateTolerationsKept(after.tolerations ?? [], before.tolerations ?? [], at);
  validateNoNewGates(after.schedulingGates ?? [], before.schedulingGates ?? [], at);

  const rest = withoutAllowedChanges(after, before);
  // The scheduler has not considered a gated pod yet, so its node constraints may become stricter.
  const gated = (before.schedulingGates?.length ?? 0) > 0;
  const comparable = gated ? validateGatedChanges(rest, before, at) : rest;
  if (!isEqual(comparable, before)) {
    const difference = diffValues(before, comparable);
    at.forbidden("", `pod updates may not change fields other than ${updatable}\n${difference}`);
  }
  return at.errors;
}

/** Returns the new spec with mutable fields reset to their previous values. */
function withoutAllowedChanges(after: PodSpec, before: PodSpec): PodSpec {
  const rest: PodSpec = {
    ...after,
    containers: withImagesOf(after.containers, before.containers) ?? [],
    initContainers: withImagesOf(after.initContainers, before.initContainers),
    activeDeadlineSeconds: before.activeDeadlineSeconds,
    schedulingGates: before.schedulingGates,
    tolerations: before.tolerations,
  };
  if ((before.terminationGracePeriodSeconds ?? 0) < 0 && after.terminationGracePeriodSeconds === 1) {
    rest.terminationGracePeriodSeconds = before.terminationGracePeriodSeconds;
  }
  return rest;
}

function withImagesOf(after: Container[] | undefined, before: Container[] = []): Container[] | undefined {
  return after?.map((container, i) => ({ ...container, image: before[i]?.image }));
}

function validateDeadline(after: number | undefined, before: number | undefined, at: FieldErrors): void {
  if (before === undefined) return;
  if (after === undefined) {
    at.invalid("activeDeadlineSeconds", after, "must not update from a positive integer to nil value");
  } else if (after > before) {
    at.invalid("activeDeadlineSeconds", after, "must be less than or equal to previous value");
  }
}

function validateTolerationsKept(
  after: k8s.V1Toleration[],
  before: k8s.V1Toleration[],
  at: FieldErrors,
): void {
  const identityOf = ({ key, operator, value, effect }: k8s.V1Toleration) =>
    JSON.stringify([key, operator, value, effect]);
  const there = new Set(after.map(identityOf));
  if (!before.every((toleration) => there.has(identityOf(toleration)))) {
    at.forbidden("tolerations", "existing toleration can not be modified except its tolerationSeconds");
  }
}

function validateNoNewGates(
  after: k8s.V1PodSchedulingGate[],
  before: k8s.V1PodSchedulingGate[],
  at: FieldErrors,
): void {
  const known = new Set(before.map(({ name }) => name));
  after.forEach(({ name }, i) => {
    if (known.has(name)) return;
    const detail = `only deletion is allowed, but found new scheduling gate '${name}'`;
    at.forbidden(`schedulingGates[${i}].name`, detail);
  });
}

/**
 * Validates changes of the node selector and node affinity of a gated pod, which may only become stricter. Returns the
 * spec with both reset.
 */
function validateGatedChanges(after: PodSpec, before: PodSpec, at: FieldErrors): PodSpec {
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
  at: FieldErrors,
): void {
  if (Object.entries(before).every(([key, value]) => after[key] === value)) return;
  const detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
  at.invalid("nodeSelector", after, detail);
}

function validateAffinityMutation(
  after: k8s.V1NodeAffinity | undefined,
  before: k8s.V1NodeAffinity | undefined,
  at: FieldErrors,
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

/** Whether the term only gained requirements. An empty term matches nothing, so adding to it is not allowed. */
function onlyAdds(after: k8s.V1NodeSelectorTerm, before: k8s.V1NodeSelectorTerm): boolean {
  const { matchExpressions: oldExpressions = [], matchFields: oldFields = [] } = before;
  const { matchExpressions: newExpressions = [], matchFields: newFields = [] } = after;
  if (oldExpressions.length + oldFields.length === 0) return newExpressions.length + newFields.length === 0;
  return (
    isEqual(newExpressions.slice(0, oldExpressions.length), oldExpressions) &&
    isEqual(newFields.slice(0, oldFields.length), oldFields)
  );
}
