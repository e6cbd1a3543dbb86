import type { Pod, StatefulSet } from "../../api/objects.ts";
import { isCreated, isTerminating } from "../pod-state.ts";
import { scaledValue } from "../scaled-value.ts";
import type { Rollout } from "./rollout.ts";
import type { PodAction, PodActions } from "./stateful-set-facts.ts";

/** The pods to delete so that they come back with the update revision, the largest ordinal first. */
export function decideUpdate(rollout: Rollout): readonly PodActions[] {
  switch (rollout.strategy) {
    case "OnDelete":
    // By the time that this is asked, Recreate has none left to replace.
    case "Recreate":
      return [];
    case "EnforcedRollingUpdate":
      return enforcedTargets(rollout).map(replace);
    default:
      return (rollout.burst ? parallelTargets(rollout) : orderedTargets(rollout)).map(replace);
  }
}

function replace(pod: Pod): PodActions {
  return [{ kind: "deletePod", pod, why: "updated" } satisfies PodAction];
}

/** A number of pods, or a share of the replicas rounded down, and never none. */
export function maxUnavailableOf({ spec }: StatefulSet): number {
  const { replicas = 1, updateStrategy } = spec ?? {};
  const value = updateStrategy?.rollingUpdate?.maxUnavailable ?? 1;
  return Math.max(1, scaledValue(value, replicas, "down"));
}

/** Where to look, the largest ordinal first. */
function fromTheTop({ replicas, partition }: Rollout): readonly Pod[] {
  return replicas.slice(partition).reverse();
}

const isLive = (pod: Pod) => isCreated(pod) && !isTerminating(pod);

/** RollingUpdate in order: as many as may be unavailable beside those that are. */
function orderedTargets(rollout: Rollout): readonly Pod[] {
  const unavailable = rollout.replicas.filter(rollout.isUnavailable).length;
  const budget = Math.max(0, maxUnavailableOf(rollout.facts.set) - unavailable);
  return fromTheTop(rollout)
    .filter((pod) => rollout.isOld(pod) && isLive(pod))
    .slice(0, budget);
}

/** RollingUpdate side by side: those that are unavailable cost nothing, the others come out of what may be. */
function parallelTargets(rollout: Rollout): readonly Pod[] {
  const old = fromTheTop(rollout).filter((pod) => rollout.isOld(pod) && isLive(pod));
  const unavailable = rollout.replicas.filter(rollout.isUnavailable).length;
  const budget = Math.max(0, maxUnavailableOf(rollout.facts.set) - unavailable);
  return [
    ...old.filter(rollout.isUnavailable),
    ...old.filter((pod) => !rollout.isUnavailable(pod)).slice(0, budget),
  ];
}

/**
 * EnforcedRollingUpdate looks at larger ordinals only: a pod is replaced, well or not, once fewer of those above it
 * than may be unavailable lack the update revision or their health. A template that does not work stops at the top.
 */
function enforcedTargets(rollout: Rollout): readonly Pod[] {
  const targets: Pod[] = [];
  let budget = maxUnavailableOf(rollout.facts.set);
  for (const pod of fromTheTop(rollout)) {
    if (budget === 0) break;
    const old = rollout.isOld(pod) && isLive(pod);
    if (old && !waitsToHeal(rollout, pod)) targets.push(pod);
    else if (!old && !rollout.isUnavailable(pod)) continue;
    budget--;
  }
  return targets;
}

function waitsToHeal(rollout: Rollout, pod: Pod): boolean {
  return rollout.permanentOnly && rollout.isUnavailable(pod) && !rollout.cannotHeal(pod);
}
