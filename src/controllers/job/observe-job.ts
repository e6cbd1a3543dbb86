import type { Job, Pod } from "../../api/meta/objects.ts";
import { hasEnded, isTerminating } from "../../api/pod/pod-state.ts";
import { type IndexSet, indexSetOf, parseIndexSet } from "./index-set.ts";
import {
  countOf,
  earlierFailuresOf,
  failureCountKey,
  finishedAt,
  hasTrackingFinalizer,
  indexOf,
  isActive,
  isIndexed,
  isPodFailed,
  specOf,
  validIndexOf,
} from "./job-facts.ts";
import { judgeFailure } from "./job-policies.ts";

/** What is known about a Job when a sync starts. */
export interface JobFacts {
  readonly job: Job;
  /** Pods that the Job controls. */
  readonly pods: readonly Pod[];
  /** UIDs of pods whose finalizer this process has removed, which the cached pod may still have. */
  readonly released: ReadonlySet<string>;
  readonly now: number;
}

/** Pods of a Job by what they mean for its status. */
export interface ObservedJob extends JobFacts {
  readonly active: readonly Pod[];
  /** Pods that terminate and have not ended. */
  readonly terminating: readonly Pod[];
  /** Pods that ended and that the status does not know yet. */
  readonly newlySucceeded: readonly Pod[];
  readonly newlyFailed: readonly Pod[];
  /** Pods that succeeded and failed, with those that the status does not count yet. */
  readonly succeeded: number;
  readonly failed: number;
  /** Present for Indexed Jobs. */
  readonly indexes?: ObservedIndexes;
}

interface ObservedIndexes {
  /** Indexes in the status. */
  readonly recorded: IndexSet;
  readonly succeeded: IndexSet;
  /** Undefined without `backoffLimitPerIndex`. */
  readonly failed?: IndexSet;
  /**
   * The last failed pod of each index that waits for its replacement. Its finalizer is kept until then, because the
   * replacement continues its failure count.
   */
  readonly awaitingReplacement: ReadonlyMap<number, Pod>;
}

/** Whether a pod has the tracking finalizer: the status must account for it before it may be removed. */
export function isTracked(pod: Pod, released: ReadonlySet<string>): boolean {
  return hasTrackingFinalizer(pod) && !released.has(pod.metadata.uid ?? "");
}

export function observeJob(facts: JobFacts): ObservedJob {
  const { job, pods, released } = facts;
  const { status } = job;
  const uncounted = {
    succeeded: new Set(status?.uncountedTerminatedPods?.succeeded),
    failed: new Set(status?.uncountedTerminatedPods?.failed),
  };
  const isNew = (pod: Pod, counted: ReadonlySet<string>) =>
    isTracked(pod, released) &&
    !counted.has(pod.metadata.uid ?? "") &&
    (!isIndexed(job) || validIndexOf(pod, job) !== undefined);
  const newlySucceeded = pods.filter(
    (pod) => pod.status?.phase === "Succeeded" && isNew(pod, uncounted.succeeded),
  );
  const newlyFailed = pods.filter((pod) => isPodFailed(pod, job) && isNew(pod, uncounted.failed));
  const counting = newlyFailed.filter((pod) => judgeFailure(job, pod).counts);
  const active = pods.filter(isActive);
  const indexes = isIndexed(job) ? observeIndexes(facts, active) : undefined;
  return {
    ...facts,
    active,
    terminating: pods.filter((pod) => isTerminating(pod) && !hasEnded(pod)),
    newlySucceeded,
    newlyFailed,
    succeeded:
      indexes?.succeeded.size ?? (status?.succeeded ?? 0) + newlySucceeded.length + uncounted.succeeded.size,
    failed: (status?.failed ?? 0) + counting.length + uncounted.failed.size,
    ...(indexes && { indexes }),
  };
}

function observeIndexes({ job, pods, released }: JobFacts, active: readonly Pod[]): ObservedIndexes {
  const { status } = job;
  const { completions = 0, backoffLimitPerIndex } = specOf(job);
  const tracked = pods.filter(hasTrackingFinalizer);
  const indexesOf = (chosen: readonly Pod[]) =>
    indexSetOf(chosen.flatMap((pod) => validIndexOf(pod, job) ?? []));
  const recorded = parseIndexSet(status?.completedIndexes, completions);
  const succeeded = recorded.union(
    indexesOf(tracked.filter(({ status: podStatus }) => podStatus?.phase === "Succeeded")),
  );
  if (backoffLimitPerIndex === undefined) return { recorded, succeeded, awaitingReplacement: new Map() };
  const failed = parseIndexSet(status?.failedIndexes, completions).union(
    indexesOf(tracked.filter((pod) => isIndexFailed(pod, job, backoffLimitPerIndex))),
  );
  const activeIndexes = new Set(active.map(indexOf));
  const awaitingReplacement = new Map<number, Pod>();
  for (const pod of pods) {
    const index = validIndexOf(pod, job);
    if (index === undefined || !isTracked(pod, released) || !isPodFailed(pod, job)) continue;
    if (succeeded.has(index) || failed.has(index) || activeIndexes.has(index)) continue;
    const other = awaitingReplacement.get(index);
    if (!other || isLaterFailure(pod, other)) awaitingReplacement.set(index, pod);
  }
  return { recorded, succeeded, failed, awaitingReplacement };
}

function isLaterFailure(pod: Pod, other: Pod): boolean {
  return earlierFailuresOf(other) <= earlierFailuresOf(pod) && finishedAt(pod) >= finishedAt(other);
}

function isIndexFailed(pod: Pod, job: Job, limit: number): boolean {
  if (!isPodFailed(pod, job)) return false;
  const { action, counts } = judgeFailure(job, pod);
  return action === "FailIndex" || (counts && countOf(pod, failureCountKey) >= limit);
}
