import type { Pod } from "../../api/objects.ts";
import { isCreated, isTerminating } from "../pod-state.ts";
import type { Rollout } from "./rollout.ts";
import type { PodActions } from "./stateful-set-facts.ts";
import type { Condition, StatefulSetStatus } from "./stateful-set-status.ts";

/**
 * Recreate: every pod of another revision goes before any of the update revision comes, all of them at once under
 * either management policy. Undefined when none of the old is left, or for another strategy: then the set is brought
 * to its size as always.
 */
export function decideRecreate(rollout: Rollout): readonly PodActions[] | undefined {
  const { strategy, replicas, condemned } = rollout;
  if (strategy !== "Recreate") return undefined;
  const old = [...replicas, ...condemned].filter((pod) => isCreated(pod) && rollout.isOld(pod));
  if (old.length === 0) return undefined;
  return old.filter((pod) => !isTerminating(pod)).map(remove);
}

function remove(pod: Pod): PodActions {
  return [{ kind: "deletePod", pod, why: "updated" }];
}

export const deletingOldPods: Condition = {
  type: "Progressing",
  status: "True",
  reason: "RecreateInProgress",
  message: "Deleting old revision pods",
};

const awaitingNewPods: Condition = {
  ...deletingOldPods,
  message: "Waiting for new-revision pods to be created",
};

const recreated: Condition = {
  type: "Progressing",
  status: "False",
  reason: "RecreateCompleted",
  message: "All pods recreated successfully",
};

/**
 * What upstream says once the old pods are gone, in place of what any strategy says when nothing is wrong. A pod that
 * holds the set up is told of as for every strategy, and so is a set that was never recreated.
 */
export function recreateProgress(
  { strategy, facts }: Rollout,
  counted: StatefulSetStatus,
  usual: Condition,
): Condition {
  if (strategy !== "Recreate" || usual.status === "False") return usual;
  const { name } = facts.update;
  if (counted.currentRevision !== name) return awaitingNewPods;
  const before = counted.conditions?.find(({ type }) => type === "Progressing");
  const ends = facts.current.name !== name;
  const ended = before?.reason === recreated.reason && usual.reason === "RolloutComplete";
  return ends || ended ? recreated : usual;
}
