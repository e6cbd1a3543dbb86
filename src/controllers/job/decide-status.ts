import { isEqual } from "../../api/meta/is-equal.ts";
import { isReady, isTrue } from "../../api/meta/object-facts.ts";
import type { Job, Pod } from "../../api/meta/objects.ts";
import { formatTime } from "../../api/meta/time.ts";
import type { EventToRecord } from "../../client/events/event-recorder.ts";
import { failedCondition, type JobPlan, newCondition } from "./decide-job.ts";
import { indexSetOf } from "./index-set.ts";
import {
  indexOf,
  isPodFailed,
  isSuspended,
  type JobCondition,
  type JobStatus,
  specOf,
  validIndexOf,
} from "./job-facts.ts";
import { judgeFailure } from "./job-policies.ts";
import { isTracked, type ObservedJob } from "./observe-job.ts";

/** Maximum number of pods that one sync adds to the status, which bounds its size to about 20 KB. */
const maxUncounted = 500;

/** What became of the pods of a plan. */
export interface PodsResult {
  readonly created: number;
  /** Pods that were deleted, or were gone already. */
  readonly deleted: readonly Pod[];
}

/**
 * Changes of a Job that a sync makes after its pods were created and deleted. The order makes counting safe over crashes:
 * `status` records pods by UID, then `release` loses its finalizer, then `settleStatus` turns UIDs into counts.
 */
export interface Tracking {
  /** Status to write before finalizers are removed. Undefined if it is unchanged. */
  readonly status?: JobStatus;
  /** Pods whose finalizer may be removed. */
  readonly release: readonly Pod[];
  /** Complete or Failed, once all pods are counted. */
  readonly terminal?: JobCondition;
  readonly events: readonly EventToRecord[];
  /** Number of newly failed pods by action of the failure policy. */
  readonly policyActions: Readonly<Record<string, number>>;
}

export function trackPods(observed: ObservedJob, plan: JobPlan, result: PodsResult): Tracking {
  const { job, pods, released, now } = observed;
  const active = observed.active.length + result.created - result.deleted.length;
  const outcome = decideOutcomeAfter(observed, plan, { active });
  const events: EventToRecord[] = [];
  const tracked = new Set(pods.filter((pod) => isTracked(pod, released)).map(uidOf));
  let status: JobStatus = {
    ...countUncounted(job.status ?? {}, tracked),
    startTime: job.status?.startTime ?? (isSuspended(job) ? undefined : formatTime(now)),
    active: active || undefined,
    ready: observed.active.filter(isReady).length - result.deleted.filter(isReady).length,
    terminating: observed.terminating.length + result.deleted.length,
  };
  if (plan.isManaged && !outcome) status = withSuspension(job, status, { events, now });
  const counted = countFinished(observed, status, outcome);
  status = counted.status;
  let terminal: JobCondition | undefined;
  if (outcome?.type === "SuccessCriteriaMet") {
    const { reason = "", message = "" } = outcome;
    terminal = newCondition("Complete", { reason, message }, now);
    if (!isTrue(job, "SuccessCriteriaMet"))
      status = { ...status, conditions: [...(status.conditions ?? []), outcome] };
  } else if (outcome) {
    terminal = failedCondition(outcome, now);
    if (outcome.type === "FailureTarget")
      status = { ...status, conditions: [...(status.conditions ?? []), outcome] };
  }
  return {
    ...(!isEqual(normalize(job.status ?? {}), normalize(status)) && { status: normalize(status) }),
    release: counted.release,
    // A sync that leaves pods for the next one cannot end the Job.
    ...(terminal && !counted.isFull && { terminal }),
    events,
    policyActions: counted.policyActions,
  };
}

function decideOutcomeAfter(
  observed: ObservedJob,
  plan: JobPlan,
  { active }: { readonly active: number },
): JobCondition | undefined {
  const { job, succeeded, now } = observed;
  // Pods that could not be deleted, or that the cache lacks, keep the Job from ending.
  if (plan.outcome) return active === 0 && plan.isCacheCurrent ? plan.outcome : undefined;
  const { completions } = specOf(job);
  const isReached = completions === undefined ? succeeded > 0 : succeeded >= completions;
  if (!isReached || active > 0) return undefined;
  const message = "Reached expected number of succeeded pods";
  return newCondition("SuccessCriteriaMet", { reason: "CompletionsReached", message }, now);
}

/** Turns the UIDs of pods that have lost their finalizer into counts. */
function countUncounted(status: JobStatus, tracked: ReadonlySet<string>): JobStatus {
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  const left = {
    succeeded: succeeded.filter((uid) => tracked.has(uid)),
    failed: failed.filter((uid) => tracked.has(uid)),
  };
  return {
    ...status,
    succeeded: (status.succeeded ?? 0) + succeeded.length - left.succeeded.length,
    failed: (status.failed ?? 0) + failed.length - left.failed.length,
    uncountedTerminatedPods: left,
  };
}

/** Adds finished pods to the status. */
function countFinished(observed: ObservedJob, before: JobStatus, outcome: JobCondition | undefined) {
  const { job, pods, released, indexes } = observed;
  const succeeded = [...(before.uncountedTerminatedPods?.succeeded ?? [])];
  const failed = [...(before.uncountedTerminatedPods?.failed ?? [])];
  const newIndexes: number[] = [];
  const release: Pod[] = [];
  const policyActions: Record<string, number> = {};
  let isFull = false;
  for (const pod of indexes ? byIndex(pods) : pods) {
    if (!isTracked(pod, released) || !mayRelease(observed, pod, outcome)) continue;
    release.push(pod);
    const uid = uidOf(pod);
    const index = validIndexOf(pod, job);
    if (pod.status?.phase === "Succeeded" && !failed.includes(uid)) {
      if (!indexes) {
        if (!succeeded.includes(uid)) succeeded.push(uid);
      } else if (index !== undefined && !indexes.recorded.has(index)) newIndexes.push(index);
    } else if (isPodFailed(pod, job) || (outcome && outcome.type !== "SuccessCriteriaMet")) {
      // Once the Job has failed, pods that did not end count as failed.
      if (failed.includes(uid) || (indexes && index === undefined)) continue;
      const { action, counts } = judgeFailure(job, pod);
      if (action) policyActions[action] = (policyActions[action] ?? 0) + 1;
      if (counts) failed.push(uid);
    }
    isFull = newIndexes.length + succeeded.length + failed.length >= maxUncounted;
    if (isFull) break;
  }
  const completed = indexes?.recorded.union(indexSetOf(newIndexes));
  const status: JobStatus = {
    ...before,
    uncountedTerminatedPods: { succeeded, failed },
    ...(completed && { succeeded: completed.size, completedIndexes: completed.toString() }),
    ...(indexes && { failedIndexes: indexes.failed?.toString() }),
  };
  return { status, release, isFull, policyActions };
}

/** Pods of lower indexes first; pods without an index before them. */
function byIndex(pods: readonly Pod[]): readonly Pod[] {
  return [...pods].sort((a, b) => (indexOf(a) ?? -1) - (indexOf(b) ?? -1));
}

function mayRelease({ job, indexes }: ObservedJob, pod: Pod, outcome: JobCondition | undefined): boolean {
  if (job.metadata.deletionTimestamp || outcome || pod.status?.phase === "Succeeded") return true;
  if (!isPodFailed(pod, job)) return false;
  const index = indexOf(pod);
  return index === undefined || indexes?.awaitingReplacement.get(index)?.metadata.uid !== pod.metadata.uid;
}

function withSuspension(
  job: Job,
  status: JobStatus,
  { events, now }: { readonly events: EventToRecord[]; readonly now: number },
): JobStatus {
  const conditions = status.conditions ?? [];
  const current = conditions.find(({ type }) => type === "Suspended");
  const change = isSuspended(job)
    ? { status: "True", reason: "JobSuspended", message: "Job suspended" }
    : { status: "False", reason: "JobResumed", message: "Job resumed" };
  if (current ? current.status === change.status : change.status === "False") return status;
  const suspended = newCondition("Suspended", change, now);
  const reason = isSuspended(job) ? "Suspended" : "Resumed";
  events.push({ type: "Normal", reason, message: change.message });
  return {
    ...status,
    // The active deadline starts again when the Job is resumed.
    startTime: isSuspended(job) ? undefined : formatTime(now),
    conditions: current
      ? conditions.map((condition) => (condition === current ? suspended : condition))
      : [...conditions, suspended],
  };
}

interface Settled {
  /** Status to write. Undefined if it is unchanged. */
  readonly status?: JobStatus;
  /** Complete or Failed, if the status has it now. */
  readonly finished?: JobCondition;
}

/** Decides the status after finalizers were removed. `job` is the version that was written last. */
export function settleStatus(
  job: Job,
  { terminal }: Pick<Tracking, "terminal">,
  { tracked }: { readonly tracked: ReadonlySet<string> },
): Settled {
  const counted = countUncounted(job.status ?? {}, tracked);
  const { succeeded = [], failed = [] } = counted.uncountedTerminatedPods ?? {};
  const isSettled = succeeded.length + failed.length === 0 && (counted.terminating ?? 0) === 0;
  const finished = terminal && isSettled ? terminal : undefined;
  const status = normalize({
    ...counted,
    ...(finished && { conditions: [...(counted.conditions ?? []), finished] }),
    ...(finished?.type === "Complete" && { completionTime: finished.lastTransitionTime }),
  });
  if (isEqual(normalize(job.status ?? {}), status)) return {};
  return { status, ...(finished && { finished }) };
}

/** Leaves out what Go leaves out: counts of zero and empty lists. */
function normalize(status: JobStatus): JobStatus {
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  const normalized: JobStatus = {
    ...status,
    active: status.active || undefined,
    succeeded: status.succeeded || undefined,
    failed: status.failed || undefined,
    completedIndexes: status.completedIndexes || undefined,
    uncountedTerminatedPods: {
      ...(succeeded.length > 0 && { succeeded }),
      ...(failed.length > 0 && { failed }),
    },
  };
  return normalized;
}

function uidOf({ metadata }: Pod): string {
  return metadata.uid ?? "";
}
