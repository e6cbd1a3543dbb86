import type { Pod } from "../../api/objects.ts";
import { hasEnded } from "../../api/pod-phase.ts";
import { isCreated, isRunningAndReady, isTerminating } from "../pod-state.ts";
import { claimCorrections, hasStaleClaim, missingClaims } from "./decide-pod-claims.ts";
import { correctedPod, ordinalOf, ordinalsOf } from "./pod-identity.ts";
import type { Rollout } from "./rollout.ts";
import type { PodAction, PodActions } from "./stateful-set-facts.ts";

export interface ReplicasDecision {
  readonly actions: readonly PodActions[];
  /** The pod that everything else waits for. */
  readonly stoppedAt?: Pod;
  /** The pod that updates wait for. */
  readonly updateWaitsFor?: Pod;
}

/** What a pod means for those after it. */
type Effect = "goOn" | "stop" | "holdUpdate" | "holdCreation";

/** Sees to it that every pod is there and is who it should be: in order, or without regard to the others. */
export function decideReplicas(rollout: Rollout): ReplicasDecision {
  return rollout.burst ? decideSideBySide(rollout) : decideInOrder(rollout);
}

function decideSideBySide(rollout: Rollout): ReplicasDecision {
  const actions = rollout.replicas.map((pod) => {
    if (!isCreated(pod)) return create(rollout, pod);
    return hasEnded(pod) ? remove(pod) : keep(rollout, pod);
  });
  return { actions: actions.filter(({ length }) => length > 0) };
}

function decideInOrder(rollout: Rollout): ReplicasDecision {
  const actions: PodActions[] = [];
  let creationWaits = false;
  let updateWaitsFor: Pod | undefined;
  for (const pod of rollout.replicas) {
    if (!isCreated(pod)) {
      if (creationWaits) continue;
      actions.push(create(rollout, pod));
      return { actions, stoppedAt: pod };
    }
    if (hasEnded(pod)) {
      actions.push(remove(pod));
      return { actions, stoppedAt: pod };
    }
    const effect = effectOf(rollout, pod);
    actions.push(effect === "goOn" ? keep(rollout, pod) : completeClaims(rollout, pod));
    if (effect === "stop") return { actions, stoppedAt: pod };
    if (effect === "holdUpdate") updateWaitsFor ??= pod;
    creationWaits ||= effect !== "goOn";
  }
  return { actions: actions.filter(({ length }) => length > 0), updateWaitsFor };
}

/**
 * In order, every pod waits until those before it are available. EnforcedRollingUpdate does not wait for one that is to
 * be replaced, nor for one that fails: only a new pod waits for those before it that are still coming up. With
 * `permanent-only` it waits as RollingUpdate does, but for pods that are to be replaced and cannot heal by themselves.
 */
function effectOf(rollout: Rollout, pod: Pod): Effect {
  if (isTerminating(pod)) return "stop";
  if (isRunningAndReady(pod) && !rollout.isUnavailable(pod)) return "goOn";
  if (rollout.strategy !== "EnforcedRollingUpdate") return "stop";
  const due = isDue(rollout, pod);
  if (rollout.permanentOnly) return due && rollout.cannotHeal(pod) ? "goOn" : "holdUpdate";
  return due || rollout.whyUnavailable(pod).kind !== "coming" ? "goOn" : "holdCreation";
}

/** It will be replaced. */
export function isDue({ facts, partition, isOld }: Rollout, pod: Pod): boolean {
  return isOld(pod) && ordinalOf(pod) >= ordinalsOf(facts.set).first + partition;
}

function create({ facts }: Rollout, pod: Pod): PodActions {
  if (hasStaleClaim(facts, pod)) return [];
  return [...missingClaims(facts, pod, "create"), { kind: "createPod", pod }];
}

function remove(pod: Pod): PodActions {
  return isTerminating(pod) ? [] : [{ kind: "deletePod", pod, why: "ended" }];
}

/** A pod cannot start without its claims: somebody may have deleted one. */
function completeClaims({ facts }: Rollout, pod: Pod): PodAction[] {
  if (pod.status?.phase !== "Pending") return [];
  return [...missingClaims(facts, pod, "update"), ...claimCorrections(facts, pod)];
}

function keep(rollout: Rollout, pod: Pod): PodActions {
  const { facts } = rollout;
  const corrected = correctedPod(facts.set, pod);
  const pending = pod.status?.phase === "Pending";
  return [
    ...(pending ? completeClaims(rollout, pod) : claimCorrections(facts, pod)),
    ...(corrected ? ([{ kind: "correctPod", pod: corrected }] as const) : []),
  ];
}
