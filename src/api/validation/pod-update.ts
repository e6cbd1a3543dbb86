import type * as k8s from "@kubernetes/client-node";
import type { FieldError } from "../field-error.ts";
import { isEqual } from "../is-equal.ts";
import type { Container, Pod, PodSpec } from "../objects.ts";
import { diffValues } from "./diff.ts";
import { validatePodContent } from "./pod.ts";
import { validatePodAnnotationUpdate } from "./pod-annotations.ts";
import { validateGatedChanges } from "./pod-gated-update.ts";
import { Report } from "./report.ts";

const updatable = [
  "`spec.containers[*].image`",
  "`spec.initContainers[*].image`",
  "`spec.activeDeadlineSeconds`",
  "`spec.tolerations` (only additions to existing tolerations)",
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
].join(",");

/** A pod stays what it is: only a few fields of its spec may change. */
export function validatePodUpdate(next: Pod, current: Pod): FieldError[] {
  const at = new Report("spec", validatePodContent(next));
  validatePodAnnotationUpdate(next.metadata, current.metadata, new Report("metadata.annotations", at.errors));
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
  // Nothing has looked at a pod that waits at a gate: where it may run can still be narrowed.
  const gated = (before.schedulingGates?.length ?? 0) > 0;
  const comparable = gated ? validateGatedChanges(rest, before, at) : rest;
  if (!isEqual(comparable, before)) {
    const difference = diffValues(before, comparable);
    at.forbidden("", `pod updates may not change fields other than ${updatable}\n${difference}`);
  }
  return at.errors;
}

/** The new spec with what may change put back to what it was. */
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

function validateDeadline(after: number | undefined, before: number | undefined, at: Report): void {
  if (before === undefined) return;
  if (after === undefined) {
    at.invalid("activeDeadlineSeconds", after, "must not update from a positive integer to nil value");
  } else if (after > before) {
    at.invalid("activeDeadlineSeconds", after, "must be less than or equal to previous value");
  }
}

function validateTolerationsKept(after: k8s.V1Toleration[], before: k8s.V1Toleration[], at: Report): void {
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
  at: Report,
): void {
  const known = new Set(before.map(({ name }) => name));
  after.forEach(({ name }, i) => {
    if (known.has(name)) return;
    const detail = `only deletion is allowed, but found new scheduling gate '${name}'`;
    at.forbidden(`schedulingGates[${i}].name`, detail);
  });
}
