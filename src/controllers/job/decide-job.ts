import { conditionOf, isReady } from "../../api/meta/object-facts.ts";
import type { Job, Pod } from "../../api/meta/objects.ts";
import { formatTime } from "../../api/meta/time.ts";
import { indexSetOf } from "./index-set.ts";
import {
  indexOf,
  isIndexed,
  isPodFailed,
  isSuspended,
  type JobCondition,
  replacesOnlyFailed,
  specOf,
  validIndexOf,
} from "./job-facts.ts";
import { judgeFailure, matchSuccessPolicy } from "./job-policies.ts";
import type { ObservedJob } from "./observe-job.ts";
import { type BackOffRecord, backOffMs, indexBackOffMs } from "./pod-back-off.ts";

/** Maximum number of pods that are created or deleted in one sync. */
const maxPodsPerSync = 500;
/** Shortest delay of a sync that waits for a back-off, as upstream. */
const minRequeueMs = 1_000;

export type PodsPlan =
  | { readonly kind: "keep" }
  /** Nothing is created until the back-off has passed. */
  | { readonly kind: "backOff"; readonly requeueAfterMs: number }
  /** One pod for each index; pods of a Job without indexes have the index undefined. */
  | { readonly kind: "create"; readonly indexes: readonly (number | undefined)[] }
  /** Removes the finalizer and deletes: the Job does not count these pods. */
  | { readonly kind: "delete"; readonly pods: readonly Pod[] }
  /** Deletes the pods of a Job that has succeeded or failed. Their finalizers stay until they are counted. */
  | { readonly kind: "terminate"; readonly pods: readonly Pod[] };

export interface JobPlan {
  /** Whether the plan follows from the size of the Job, so that it may also change the condition Suspended. */
  readonly isManaged: boolean;
  readonly pods: PodsPlan;
  /** FailureTarget or SuccessCriteriaMet, or Failed if the status already has FailureTarget. */
  readonly outcome?: JobCondition;
  /** Whether the cache contains the pods that earlier syncs created and deleted. */
  readonly isCacheCurrent: boolean;
  /** Delay until the active deadline. */
  readonly deadlineInMs?: number;
}

interface Context {
  /** Whether the cache contains the pods that earlier syncs created and deleted. */
  readonly isCacheCurrent: boolean;
  readonly backOff: BackOffRecord;
}

export function decideJob(observed: ObservedJob, context: Context): JobPlan {
  const { job, active } = observed;
  const { isCacheCurrent } = context;
  const outcome = decideOutcome(observed);
  if (outcome)
    return { isCacheCurrent, isManaged: false, pods: { kind: "terminate", pods: active }, outcome };
  const isManaged = isCacheCurrent && job.metadata.deletionTimestamp === undefined;
  const pods: PodsPlan = isManaged ? decidePods(observed, context) : { kind: "keep" };
  const deadlineInMs = activeDeadlineInMs(observed);
  return { isCacheCurrent, isManaged, pods, ...(deadlineInMs !== undefined && { deadlineInMs }) };
}

/** Creates a condition with both of its times. */
export function newCondition(
  type: string,
  { reason, message, status = "True" }: { reason: string; message: string; status?: string },
  now: number,
): JobCondition {
  const time = formatTime(now);
  return { type, status, lastProbeTime: time, lastTransitionTime: time, reason, message };
}

/** Why the Job has to end, apart from reaching its completions. An earlier outcome is kept. */
function decideOutcome(observed: ObservedJob): JobCondition | undefined {
  const { job, pods, failed, indexes, now } = observed;
  const { backoffLimit = 6, maxFailedIndexes, completions = 0 } = specOf(job);
  const fail = (reason: string, message: string) => newCondition("FailureTarget", { reason, message }, now);
  const met = conditionOf(job, "SuccessCriteriaMet");
  if (met?.status === "True") return met;
  const target = conditionOf(job, "FailureTarget");
  if (target?.status === "True") return failedCondition(target, now);
  for (const pod of job.spec?.podFailurePolicy ? pods : []) {
    const message = isPodFailed(pod, job) ? judgeFailure(job, pod).message : undefined;
    if (message !== undefined) return fail("PodFailurePolicy", message);
  }
  if (failed > backoffLimit || hasTooManyRestarts(job, pods))
    return fail("BackoffLimitExceeded", "Job has reached the specified backoff limit");
  if ((activeDeadlineInMs(observed) ?? 1) <= 0)
    return fail("DeadlineExceeded", "Job was active longer than specified deadline");
  if (!indexes) return undefined;
  const failedIndexes = indexes.failed?.size ?? 0;
  if (maxFailedIndexes !== undefined && failedIndexes > maxFailedIndexes) {
    const message = "Job has exceeded the specified maximal number of failed indexes";
    return fail("MaxFailedIndexesExceeded", message);
  }
  if (failedIndexes > 0 && failedIndexes + indexes.succeeded.size >= completions)
    return fail("FailedIndexes", "Job has failed indexes");
  const message = matchSuccessPolicy(job, indexes.succeeded);
  return message === undefined
    ? undefined
    : newCondition("SuccessCriteriaMet", { reason: "SuccessPolicy", message }, now);
}

/** Condition that follows from FailureTarget once all pods are counted. */
export function failedCondition({ reason = "", message = "" }: JobCondition, now: number): JobCondition {
  return newCondition("Failed", { reason, message }, now);
}

/** With `restartPolicy: OnFailure` the kubelet restarts containers in place, and restarts count as failures. */
function hasTooManyRestarts(job: Job, pods: readonly Pod[]): boolean {
  const { template, backoffLimit = 6 } = specOf(job);
  if (template?.spec?.restartPolicy !== "OnFailure") return false;
  let restarts = 0;
  for (const { status } of pods) {
    if (status?.phase !== "Running" && status?.phase !== "Pending") continue;
    const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
    for (const { restartCount } of containers) restarts += restartCount;
  }
  return backoffLimit === 0 ? restarts > 0 : restarts >= backoffLimit;
}

function activeDeadlineInMs({ job, now }: ObservedJob): number | undefined {
  const { activeDeadlineSeconds } = specOf(job);
  if (activeDeadlineSeconds === undefined || isSuspended(job)) return undefined;
  const startedAt = job.status?.startTime ? Date.parse(job.status.startTime) : now;
  return startedAt + activeDeadlineSeconds * 1_000 - now;
}

function decidePods(observed: ObservedJob, { backOff }: Context): PodsPlan {
  const { job, active, terminating, indexes, now } = observed;
  const { completions = 0, backoffLimitPerIndex } = specOf(job);
  if (isSuspended(job)) return deletion(podsToRemove(job, active, active.length));
  const wanted = wantedPods(observed);
  const surplus = podsToRemove(job, active, Math.max(0, active.length - wanted));
  if (surplus.length > 0) return deletion(surplus.slice(0, maxPodsPerSync));
  const replaced = replacesOnlyFailed(job) ? terminating.length : 0;
  const missing = Math.min(wanted - replaced - active.length, maxPodsPerSync);
  if (missing <= 0) return { kind: "keep" };
  const waitMs = backoffLimitPerIndex === undefined ? backOffMs(backOff, now) : 0;
  if (waitMs > 0) return waiting(waitMs);
  if (!indexes) return { kind: "create", indexes: Array.from({ length: missing }, () => undefined) };
  const kept = replacesOnlyFailed(job) ? [...active, ...terminating] : active;
  let taken = indexes.succeeded.union(indexSetOf(kept.flatMap((pod) => indexOf(pod) ?? [])));
  if (indexes.failed) taken = taken.union(indexes.failed);
  const pending = taken.firstMissing(missing, completions);
  const waits = pending.map((index) => indexBackOffMs(indexes.awaitingReplacement.get(index), now));
  const ready = pending.filter((_, i) => waits[i] === 0);
  if (ready.length === 0 && waits.length > 0) return waiting(Math.min(...waits));
  return ready.length === 0 ? { kind: "keep" } : { kind: "create", indexes: ready };
}

function deletion(pods: readonly Pod[]): PodsPlan {
  return pods.length === 0 ? { kind: "keep" } : { kind: "delete", pods };
}

function waiting(ms: number): PodsPlan {
  return { kind: "backOff", requeueAfterMs: Math.max(ms, minRequeueMs) };
}

function wantedPods({ job, active, succeeded }: ObservedJob): number {
  const { parallelism = 1, completions } = specOf(job);
  // Without completions the first success ends the Job: pods that run are left alone, and none is started.
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism;
  return Math.max(0, Math.min(completions - succeeded, parallelism));
}

/** At least `count` pods that are furthest from success, and pods whose index is invalid or taken by another. */
function podsToRemove(job: Job, active: readonly Pod[], count: number): readonly Pod[] {
  const sorted = [...active].sort(compareProgress);
  if (!isIndexed(job)) return sorted.slice(0, count);
  const kept = new Map<number, Pod>();
  const removed: Pod[] = [];
  for (const pod of sorted) {
    const index = validIndexOf(pod, job);
    const other = index === undefined ? pod : kept.get(index);
    if (other) removed.push(other);
    if (index !== undefined) kept.set(index, pod);
  }
  const left = sorted.filter((pod) => !removed.includes(pod));
  return [...removed, ...left.slice(0, Math.max(0, count - removed.length))];
}

const phaseOrder: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

/** Upstream's order: pods without a node, then pending ones, unready ones, and the youngest. */
function compareProgress(a: Pod, b: Pod): number {
  const phase = ({ status }: Pod) => phaseOrder[status?.phase ?? ""] ?? 0;
  const restarts = ({ status }: Pod) =>
    Math.max(0, ...(status?.containerStatuses ?? []).map(({ restartCount }) => restartCount));
  return (
    Number(Boolean(a.spec?.nodeName)) - Number(Boolean(b.spec?.nodeName)) ||
    phase(a) - phase(b) ||
    Number(isReady(a)) - Number(isReady(b)) ||
    readySince(b) - readySince(a) ||
    restarts(b) - restarts(a) ||
    timeOf(b.metadata.creationTimestamp) - timeOf(a.metadata.creationTimestamp)
  );
}

function readySince(pod: Pod): number {
  return isReady(pod) ? timeOf(conditionOf(pod, "Ready")?.lastTransitionTime) : 0;
}

function timeOf(text: string | undefined): number {
  return (text && Date.parse(text)) || 0;
}
