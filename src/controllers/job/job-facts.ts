import { conditionOf } from "../../api/meta/object-facts.ts";
import type { Job, JobSpec, Pod } from "../../api/meta/objects.ts";
import { isSidecar } from "../../api/pod/pod-resources.ts";
import { hasEnded, isTerminating } from "../../api/pod/pod-state.ts";

/** Finalizer that keeps a pod until the status of its Job counts it. */
export const trackingFinalizer = "batch.kubernetes.io/job-tracking";
/** Annotation and label of a pod with its completion index. */
export const indexKey = "batch.kubernetes.io/job-completion-index";
/** Annotations of a pod with the number of failures of its index, and of those that the failure policy ignored. */
export const failureCountKey = "batch.kubernetes.io/job-index-failure-count";
export const ignoredFailureCountKey = "batch.kubernetes.io/job-index-ignored-failure-count";

export type JobStatus = NonNullable<Job["status"]>;
export type JobCondition = NonNullable<JobStatus["conditions"]>[number];

const noSpec: JobSpec = { template: {} };

export function specOf(job: Job): JobSpec {
  return job.spec ?? noSpec;
}

export function isIndexed(job: Job): boolean {
  return job.spec?.completionMode === "Indexed";
}

export function isSuspended(job: Job): boolean {
  return job.spec?.suspend === true;
}

/** Whether another controller manages the Job. */
export function isManagedElsewhere({ spec }: Job): boolean {
  return spec?.managedBy !== undefined && spec.managedBy !== "kubernetes.io/job-controller";
}

export function isFinished(job: Job): boolean {
  return ["Complete", "Failed"].some((type) => conditionOf(job, type)?.status === "True");
}

/** Whether a pod is replaced only after it has failed, not as soon as it terminates. */
export function replacesOnlyFailed({ spec }: Job): boolean {
  return spec?.podReplacementPolicy === "Failed" || spec?.podFailurePolicy !== undefined;
}

export function isActive(pod: Pod): boolean {
  return !hasEnded(pod) && !isTerminating(pod);
}

export function hasTrackingFinalizer({ metadata }: Pod): boolean {
  return metadata.finalizers?.includes(trackingFinalizer) ?? false;
}

/** Whether the pod counts as failed. A terminating pod does, if it can be replaced: it may never reach the phase Failed. */
export function isPodFailed(pod: Pod, job: Job): boolean {
  if (pod.status?.phase === "Failed") return true;
  return !replacesOnlyFailed(job) && isTerminating(pod) && pod.status?.phase !== "Succeeded";
}

/** Completion index of a pod. Undefined if it has none. */
export function indexOf({ metadata }: Pod): number | undefined {
  const text = metadata.annotations?.[indexKey] ?? "";
  return /^\+?\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** Completion index of a pod that is below the completions of its Job. */
export function validIndexOf(pod: Pod, job: Job): number | undefined {
  const index = indexOf(pod);
  return index !== undefined && index < (job.spec?.completions ?? 0) ? index : undefined;
}

/** Number in an annotation of a pod. 0 if it is missing or not a valid count. */
export function countOf({ metadata }: Pod, annotation: string): number {
  const text = metadata.annotations?.[annotation] ?? "";
  const count = /^\+?\d{1,10}$/.test(text) ? Number(text) : 0;
  return count < 2 ** 31 ? count : 0;
}

/** Failures of the pod's index before this pod, including ignored ones. */
export function earlierFailuresOf(pod: Pod): number {
  return countOf(pod, failureCountKey) + countOf(pod, ignoredFailureCountKey);
}

/** Time at which a pod finished: that of its containers, else when it became unready, was deleted or created. */
export function finishedAt(pod: Pod): number {
  const { metadata, status, spec } = pod;
  const sidecars = new Set(spec?.initContainers?.filter(isSidecar).map(({ name }) => name));
  const containers = [
    ...(status?.containerStatuses ?? []),
    ...(status?.initContainerStatuses ?? []).filter(({ name }) => sidecars.has(name)),
  ];
  const times = containers.map(({ state }) => timeOf(state?.terminated?.finishedAt));
  if (times.length > 0 && times.every((time) => time !== undefined)) return Math.max(...times);
  const ready = conditionOf(pod, "Ready");
  const unreadyAt = ready?.status === "False" ? timeOf(ready.lastTransitionTime) : undefined;
  const deletedAt = timeOf(metadata.deletionTimestamp);
  const graceMs = (metadata.deletionGracePeriodSeconds ?? 0) * 1_000;
  return unreadyAt ?? (deletedAt && deletedAt - graceMs) ?? timeOf(metadata.creationTimestamp) ?? 0;
}

function timeOf(text: string | null | undefined): number | undefined {
  return (text && Date.parse(text)) || undefined;
}
