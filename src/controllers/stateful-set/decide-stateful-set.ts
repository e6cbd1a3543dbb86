import { availableInMs } from "../pod-state.ts";
import { decideCondemned, decideCondemnedClaims } from "./decide-condemned.ts";
import { decideProgress } from "./decide-progress.ts";
import { decideRecreate, deletingOldPods, recreateProgress } from "./decide-recreate.ts";
import { decideReplicas } from "./decide-replicas.ts";
import { decideUpdate } from "./decide-update.ts";
import { rolloutOf } from "./rollout.ts";
import type { PodActions, StatefulSetFacts, StatefulSetPlan } from "./stateful-set-facts.ts";
import { countPods, withCondition } from "./stateful-set-status.ts";

/**
 * What to do next for a StatefulSet, from what there is:
 *
 *     replicas (create, correct) → claims of condemned pods → condemned pods → update
 *
 * Recreate deletes the pods of other revisions before all that, and waits until they are gone. In order (OrderedReady)
 * a phase that has to wait ends it: what follows is decided when that has happened.
 */
export function decideStatefulSet(facts: StatefulSetFacts): StatefulSetPlan {
  const { set, now } = facts;
  const counted = countPods(facts);
  if (set.metadata.deletionTimestamp) return { phases: [], burst: false, status: counted };

  const rollout = rolloutOf(facts);
  const removal = decideRecreate(rollout);
  if (removal) {
    const phases = [decideCondemnedClaims(rollout), removal].filter(({ length }) => length > 0);
    return { phases, burst: true, status: withCondition(counted, deletingOldPods, now) };
  }
  const { actions: replicas, stoppedAt, updateWaitsFor } = decideReplicas(rollout);
  const phases: (readonly PodActions[])[] = [replicas];
  if (!stoppedAt) {
    phases.push(decideCondemnedClaims(rollout), decideCondemned(rollout));
    const scaled = rollout.burst || rollout.condemned.length === 0;
    if (scaled && !updateWaitsFor) phases.push(decideUpdate(rollout));
  }
  const usual = decideProgress(rollout, stoppedAt ?? updateWaitsFor);
  const progress = recreateProgress(rollout, counted, usual);
  return {
    phases: phases.filter(({ length }) => length > 0),
    burst: rollout.burst,
    status: withCondition(counted, progress, now),
    againAfterMs: nextAvailability(facts),
  };
}

/** When the next pod has been ready for long enough: nothing else would tell. */
function nextAvailability({ set, pods, now }: StatefulSetFacts): number | undefined {
  const { minReadySeconds = 0 } = set.spec ?? {};
  if (minReadySeconds === 0) return undefined;
  let next: number | undefined;
  for (const pod of pods) {
    const waitMs = availableInMs(pod, minReadySeconds, now);
    if (waitMs && waitMs < (next ?? Number.POSITIVE_INFINITY)) next = waitMs;
  }
  return next;
}
