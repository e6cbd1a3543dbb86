// Clauses: 3541-2, 3541-3, 3541-4, 3541-5, 3541-11
import type { Pod } from "../../api/meta/objects.ts";
import { hasEnded, isCreated, isRunningAndReady, isTerminating } from "../../api/pod/pod-state.ts";
import { claimCorrections, hasStaleClaim, missingClaims } from "./decide-pod-claims.ts";
import { correctedPod, ordinalOf, ordinalsOf } from "./pod-identity.ts";
import type { Rollout } from "./rollout.ts";
import type { PodAction, PodActions } from "./stateful-set-facts.ts";

export interface ReplicasDecision {
  readonly actions: readonly PodActions[];
  /** Pod that everything else waits for. */
  readonly stoppedAt?: Pod;
  /** Pod that updates wait for. */
  readonly updateWaitsFor?: Pod;
}

/** Effect of a pod on the pods after it. */
type Effect = "continue" | "stop" | "holdUpdate" | "holdCreation";

/** Creates and corrects pods, in order or in parallel. */
export function decideReplicas(rollout: Rollout): ReplicasDecision {
  return rollout.burst ? decideParallel(rollout) : decideInOrder(rollout);
}

function decideParallel(rollout: Rollout): ReplicasDecision {
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
      if (!continuesAfterRemoval(rollout, pod)) return { actions, stoppedAt: pod };
      creationWaits = true;
      continue;
    }
    const effect = effectOf(rollout, pod);
    actions.push(effect === "continue" ? keep(rollout, pod) : completeClaims(rollout, pod));
    if (effect === "stop") return { actions, stoppedAt: pod };
    if (effect === "holdUpdate") updateWaitsFor ??= pod;
    creationWaits ||= effect !== "continue";
  }
  return { actions: actions.filter(({ length }) => length > 0), updateWaitsFor };
}

/**
 * In order, every pod waits until the pods before it are available. EnforcedRollingUpdate does not wait for a pod that
 * is to be replaced or that fails: only a new pod waits for the starting pods before it. With `permanent-only` it waits
 * as RollingUpdate does, except for pods that are to be replaced and cannot recover.
 */
function effectOf(rollout: Rollout, pod: Pod): Effect {
  if (isTerminating(pod)) return "stop";
  if (isRunningAndReady(pod) && !rollout.isUnavailable(pod)) return "continue";
  if (rollout.strategy !== "EnforcedRollingUpdate") return "stop";
  const due = isDue(rollout, pod);
  if (rollout.permanentOnly) return due && rollout.cannotRecover(pod) ? "continue" : "holdUpdate";
  return due || rollout.healthOf(pod).kind !== "progressing" ? "continue" : "holdCreation";
}

/** EnforcedRollingUpdate does not wait for a pod that kubelets reject: it may be recreated forever. */
function continuesAfterRemoval({ strategy, permanentOnly, startState }: Rollout, pod: Pod): boolean {
  return strategy === "EnforcedRollingUpdate" && !permanentOnly && startState(pod).kind === "broken";
}

/** Whether the pod has an old revision and is not below the partition. */
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

/** Creates claims of a pending pod that were deleted meanwhile: it cannot start without them. */
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

/** Pods to delete so that they are recreated in the update revision, largest ordinal first. */
export function decideUpdate(rollout: Rollout): readonly PodActions[] {
  switch (rollout.strategy) {
    case "OnDelete":
    // Recreate has deleted all old pods before this is called.
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

/** Pods above the partition, largest ordinal first. */
function updatablePods({ replicas, partition }: Rollout): readonly Pod[] {
  return replicas.slice(partition).reverse();
}

const isLive = (pod: Pod) => isCreated(pod) && !isTerminating(pod);

/** RollingUpdate with OrderedReady: as many pods as maxUnavailable leaves. */
function orderedTargets(rollout: Rollout): readonly Pod[] {
  const unavailable = rollout.replicas.filter(rollout.isUnavailable).length;
  const budget = Math.max(0, rollout.maxUnavailable - unavailable);
  return updatablePods(rollout)
    .filter((pod) => rollout.isOld(pod) && isLive(pod))
    .slice(0, budget);
}

/** RollingUpdate with Parallel: unavailable pods, plus as many available ones as maxUnavailable leaves. */
function parallelTargets(rollout: Rollout): readonly Pod[] {
  const old = updatablePods(rollout).filter((pod) => rollout.isOld(pod) && isLive(pod));
  const unavailable = rollout.replicas.filter(rollout.isUnavailable).length;
  const budget = Math.max(0, rollout.maxUnavailable - unavailable);
  return [
    ...old.filter(rollout.isUnavailable),
    ...old.filter((pod) => !rollout.isUnavailable(pod)).slice(0, budget),
  ];
}

/**
 * EnforcedRollingUpdate goes from the largest ordinal down, while fewer than maxUnavailable of the larger ordinals lack
 * the update revision or are unavailable: a template that does not work stops at the top. Unavailable pods are replaced
 * at once, Ready ones only while fewer than maxUnavailable other pods, of any ordinal, are starting or terminating.
 */
function enforcedTargets(rollout: Rollout): readonly Pod[] {
  const { replicas, condemned, maxUnavailable } = rollout;
  const targets: Pod[] = [];
  const disrupted = new Set([...condemned, ...replicas.filter((pod) => isDisrupted(rollout, pod))]);
  let lacking = 0;
  for (const pod of updatablePods(rollout)) {
    if (lacking === maxUnavailable) break;
    if (!rollout.isOld(pod) && !rollout.isUnavailable(pod)) continue;
    lacking++;
    if (!rollout.isOld(pod) || !isLive(pod) || mayRecover(rollout, pod)) continue;
    const others = disrupted.size - (disrupted.has(pod) ? 1 : 0);
    if (isRunningAndReady(pod) && others >= maxUnavailable) continue;
    targets.push(pod);
    disrupted.add(pod);
  }
  return targets;
}

/** Starting or terminating. */
function isDisrupted(rollout: Rollout, pod: Pod): boolean {
  const { kind } = rollout.startState(pod);
  return kind === "starting" || kind === "terminating";
}

function mayRecover(rollout: Rollout, pod: Pod): boolean {
  return rollout.permanentOnly && rollout.isUnavailable(pod) && !rollout.cannotRecover(pod);
}

/**
 * Recreate: every pod of another revision is deleted before any pod of the update revision is created, all at once under
 * either management policy. Undefined if no old pods are left or for another strategy: then the replicas are reconciled
 * as usual.
 */
export function decideRecreate(rollout: Rollout): readonly PodActions[] | undefined {
  const { strategy, replicas, condemned } = rollout;
  if (strategy !== "Recreate") return undefined;
  const old = [...replicas, ...condemned].filter((pod) => isCreated(pod) && rollout.isOld(pod));
  if (old.length === 0) return undefined;
  return old.filter((pod) => !isTerminating(pod)).map(replace);
}
