import { isRunningAndReady, isTerminating } from "../pod-state.ts";
import { claimCorrections } from "./decide-pod-claims.ts";
import type { Rollout } from "./rollout.ts";
import type { PodActions } from "./stateful-set-facts.ts";

/** The claims of pods that go may go with them: that is settled while the pods are still there. */
export function decideCondemnedClaims({ facts, condemned }: Rollout): readonly PodActions[] {
  return condemned.map((pod) => claimCorrections(facts, pod)).filter(({ length }) => length > 0);
}

/**
 * Pods that the set should not have any more, all at once or the largest ordinal first, each when the one before it is
 * gone. An unhealthy one waits for those below it, unless the strategy is EnforcedRollingUpdate.
 */
export function decideCondemned(rollout: Rollout): readonly PodActions[] {
  const { condemned, burst } = rollout;
  const pods = burst ? condemned : condemned.slice(0, 1).filter(() => mayGo(rollout));
  return pods
    .filter((pod) => !isTerminating(pod))
    .map((pod) => [{ kind: "deletePod", pod, why: "scaledDown" }]);
}

function mayGo(rollout: Rollout): boolean {
  const { replicas, condemned, strategy, isUnavailable } = rollout;
  const [next] = condemned;
  if (strategy === "EnforcedRollingUpdate" || !next) return true;
  if (isRunningAndReady(next) && !isUnavailable(next)) return true;
  const firstUnavailable = replicas.find(isUnavailable) ?? condemned.findLast(isUnavailable);
  return next === firstUnavailable;
}
