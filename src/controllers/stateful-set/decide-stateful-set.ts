// Clauses: 3541-6, 3541-12
import type { Pod, StatefulSet } from "../../api/meta/objects.ts";
import { availableInMs, isRunningAndReady, isTerminating } from "../../api/pod/pod-state.ts";
import { claimCorrections } from "./decide-pod-claims.ts";
import { decideRecreate, decideReplicas, decideUpdate } from "./decide-replicas.ts";
import { type Rollout, rolloutOf } from "./rollout.ts";
import { deadlineOf, decideProgressRecord, readProgressRecord } from "./rollout-progress.ts";
import type { PodActions, ProgressRecord, StatefulSetFacts, StatefulSetPlan } from "./stateful-set-facts.ts";
import {
  type Condition,
  countPods,
  deadlineExceeded,
  decideProgress,
  deletingOldPods,
  recreateProgress,
  withProgress,
} from "./stateful-set-status.ts";
import { withUpdateRecord } from "./update-record.ts";

/**
 * Decides the next actions for a StatefulSet:
 *
 *     replicas (create, correct) → claims of condemned pods → condemned pods → update
 *
 * Recreate deletes the pods of other revisions first and waits until they are gone. With OrderedReady a phase that has
 * to wait ends the sequence; the rest is decided in a later sync.
 */
export function decideStatefulSet(facts: StatefulSetFacts): StatefulSetPlan {
  const { set, now } = facts;
  const counted = countPods(facts);
  if (set.metadata.deletionTimestamp)
    return { phases: [], burst: false, status: counted, progress: readProgressRecord(set) };

  const rollout = rolloutOf(facts);
  const recorded = withRevisions(withUpdateRecord(set, rollout.record), facts);
  const removal = decideRecreate(rollout);
  if (removal) {
    const phases = [decideCondemnedClaims(rollout), removal].filter(({ length }) => length > 0);
    const { condition, progress, requeueAfterMs } = applyDeadline(rollout, deletingOldPods);
    const status = withProgress(counted, { condition, complete: false, now });
    return { recorded, phases, burst: true, status, progress, requeueAfterMs };
  }
  const { actions: replicas, stoppedAt, updateWaitsFor } = decideReplicas(rollout);
  const phases: (readonly PodActions[])[] = [replicas];
  if (!stoppedAt) {
    phases.push(decideCondemnedClaims(rollout), decideCondemned(rollout));
    const scaled = rollout.burst || rollout.condemned.length === 0;
    if (scaled && !updateWaitsFor) phases.push(decideUpdate(rollout));
  }
  const waitsFor = stoppedAt ?? updateWaitsFor;
  const usual = decideProgress(rollout, waitsFor);
  const complete = usual.reason === "RolloutComplete";
  const wanted = recreateProgress(rollout, counted, usual);
  const waitsForUser = usual.reason === "WaitingForDelete";
  const { condition, progress, requeueAfterMs } =
    complete || waitsForUser ? { condition: wanted } : applyDeadline(rollout, wanted, waitsFor);
  return {
    recorded,
    phases: phases.filter(({ length }) => length > 0),
    burst: rollout.burst,
    status: withProgress(counted, { condition, complete, now }),
    progress,
    requeueAfterMs: earlier(nextChange(rollout), requeueAfterMs),
  };
}

/**
 * A new set gets its current revision with its first record. Without it, a restarted controller would take the template
 * of that time for the current one.
 */
function withRevisions(
  recorded: StatefulSet | undefined,
  { current, update }: StatefulSetFacts,
): StatefulSet | undefined {
  if (!recorded || recorded.status?.currentRevision) return recorded;
  const revisions = { currentRevision: current.name, updateRevision: update.name };
  return { ...recorded, status: { replicas: 0, ...recorded.status, ...revisions } };
}

/** Replaces the condition of a rollout that is not complete if it has made no progress within its deadline. */
function applyDeadline(
  rollout: Rollout,
  condition: Condition,
  waitsFor?: Pod,
): { readonly condition: Condition; readonly progress?: ProgressRecord; readonly requeueAfterMs?: number } {
  const { now } = rollout.facts;
  const progress = decideProgressRecord(rollout);
  const deadline = deadlineOf(rollout, progress);
  if (now < deadline) return { condition, progress, requeueAfterMs: deadline - now };
  return { condition: deadlineExceeded(rollout, waitsFor), progress };
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}

/** Time until the next pod is available, or a starting one that an update waits for is overdue: no event reports it. */
function nextChange({ facts, replicas, record, isOld, startState }: Rollout): number | undefined {
  const { set, pods, now } = facts;
  const { minReadySeconds = 0 } = set.spec ?? {};
  const waits: (number | undefined)[] = [];
  if (minReadySeconds > 0) for (const pod of pods) waits.push(availableInMs(pod, minReadySeconds, now));
  if (record && replicas.some(isOld)) {
    for (const pod of replicas) {
      const state = startState(pod);
      if (state.kind === "starting" && state.untilMs !== undefined) waits.push(state.untilMs - now);
    }
  }
  const next = waits.reduce<number>((least, waitMs) => Math.min(least, waitMs || least), Infinity);
  return next === Infinity ? undefined : next;
}

/** Claims may be owned by their pods: owner references are updated before the pods are deleted. */
function decideCondemnedClaims({ facts, condemned }: Rollout): readonly PodActions[] {
  return condemned.map((pod) => claimCorrections(facts, pod)).filter(({ length }) => length > 0);
}

/**
 * Pods that the set should no longer have: all at once, or the largest ordinal first, each after the previous one is
 * deleted. An unhealthy one waits for the unhealthy pods below it, unless the strategy is EnforcedRollingUpdate.
 */
function decideCondemned(rollout: Rollout): readonly PodActions[] {
  const { condemned, burst } = rollout;
  const pods = burst ? condemned : condemned.slice(0, 1).filter(() => mayDeleteNext(rollout));
  return pods
    .filter((pod) => !isTerminating(pod))
    .map((pod) => [{ kind: "deletePod", pod, why: "scaledDown" }]);
}

function mayDeleteNext(rollout: Rollout): boolean {
  const { replicas, condemned, strategy, isUnavailable } = rollout;
  const [next] = condemned;
  if (strategy === "EnforcedRollingUpdate" || !next) return true;
  if (isRunningAndReady(next) && !isUnavailable(next)) return true;
  const firstUnavailable = replicas.find(isUnavailable) ?? condemned.findLast(isUnavailable);
  return next === firstUnavailable;
}
