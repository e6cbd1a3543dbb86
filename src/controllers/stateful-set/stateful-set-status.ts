// Clauses: 3541-12
import type * as k8s from "@kubernetes/client-node";
import { isEqual } from "../../api/meta/is-equal.ts";
import type { Pod, StatefulSet, Wire } from "../../api/meta/objects.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import { formatTime } from "../../api/meta/time.ts";
import { isAvailable, isCreated, isRunningAndReady, isTerminating } from "../../api/pod/pod-state.ts";
import { unstickAnnotation } from "../../explain/rollout-policy.ts";
import { isDue } from "./decide-replicas.ts";
import { revisionOf } from "./pod-identity.ts";
import type { Rollout } from "./rollout.ts";
import type { PodAction, StatefulSetFacts } from "./stateful-set-facts.ts";

export type StatefulSetStatus = NonNullable<StatefulSet["status"]>;
export type Condition = Omit<Wire<k8s.V1StatefulSetCondition>, "lastTransitionTime">;

/** Replica counts and revisions, before any action. */
export function countPods(facts: Omit<StatefulSetFacts, "claim">): StatefulSetStatus {
  const { set, pods, current, update, collisionCount, now } = facts;
  const { minReadySeconds = 0 } = set.spec ?? {};
  const count = (is: (pod: Pod) => boolean) => pods.filter(is).length;
  const at = (revision: string) => (pod: Pod) =>
    isCreated(pod) && !isTerminating(pod) && revisionOf(pod) === revision;
  return complete(set, {
    observedGeneration: set.metadata.generation,
    replicas: count(isCreated),
    readyReplicas: count(isRunningAndReady),
    availableReplicas: count((pod) => isRunningAndReady(pod) && isAvailable(pod, minReadySeconds, now)),
    currentReplicas: count(at(current.name)),
    updatedReplicas: count(at(update.name)),
    currentRevision: current.name,
    updateRevision: update.name,
    collisionCount,
    conditions: set.status?.conditions,
  });
}

/** Makes the update revision the current one once every pod runs it and is ready. */
function complete({ spec }: StatefulSet, status: StatefulSetStatus): StatefulSetStatus {
  const { updatedReplicas, readyReplicas, replicas, updateRevision } = status;
  const wanted = spec?.replicas ?? 1;
  if (updatedReplicas !== wanted || readyReplicas !== wanted || replicas !== wanted) return status;
  return { ...status, currentReplicas: updatedReplicas, currentRevision: updateRevision };
}

export function withCondition(
  status: StatefulSetStatus,
  condition: Condition,
  now: number,
): StatefulSetStatus {
  const { conditions = [] } = status;
  const before = conditions.find(({ type }) => type === condition.type);
  const moved = before?.status !== condition.status;
  const next = { ...condition, lastTransitionTime: moved ? formatTime(now) : before?.lastTransitionTime };
  if (!before) return { ...status, conditions: [...conditions, next] };
  return { ...status, conditions: conditions.map((known) => (known === before ? next : known)) };
}

/**
 * Sets the conditions `Progressing` and `RolloutComplete`. `kubectl wait --for=condition=RolloutComplete` compares the
 * observed generation too, so that it does not report the rollout before.
 */
export function withProgress(
  status: StatefulSetStatus,
  {
    condition,
    complete,
    now,
  }: { readonly condition: Condition; readonly complete: boolean; readonly now: number },
): StatefulSetStatus {
  const { reason, message } = condition;
  const rolloutComplete = { type: "RolloutComplete", status: complete ? "True" : "False", reason, message };
  return withCondition(withCondition(status, condition, now), rolloutComplete, now);
}

/** The planned status, adjusted to the completed actions and the failure. */
export function statusAfter(
  status: StatefulSetStatus,
  {
    done,
    failure,
    now,
  }: { readonly done: ReadonlySet<PodAction>; readonly failure?: unknown; readonly now: number },
): StatefulSetStatus {
  const replaced = [...done].filter(
    (action) =>
      action.kind === "deletePod" &&
      action.why === "updated" &&
      revisionOf(action.pod) === status.currentRevision,
  ).length;
  const currentReplicas = (status.currentReplicas ?? 0) - replaced;
  const next = replaced > 0 ? { ...status, currentReplicas } : status;
  // A conflict only means that a newer version exists.
  if (!(failure instanceof StatusError) || failure.code === 409) return next;
  const find = (wanted: string) => next.conditions?.find(({ type }) => type === wanted);
  const planned = find("Progressing");
  const { reason, message } = failure;
  const condition =
    planned?.reason === deadlineReason
      ? progressing("False", deadlineReason, `${planned.message}: ${message}`)
      : progressing("False", reason, message);
  // A failure to correct the pods of a complete rollout does not undo it.
  if (find("RolloutComplete")?.status === "True") return withCondition(next, condition, now);
  return withProgress(next, { condition, complete: false, now });
}

/** The status to write. Undefined if unchanged. */
export function statusToWrite(set: StatefulSet, next: StatefulSetStatus): StatefulSetStatus | undefined {
  const before = set.status ?? { replicas: 0 };
  // A newer generation may have been observed by another version of the set.
  const observedGeneration = Math.max(next.observedGeneration ?? 0, before.observedGeneration ?? 0);
  const written = { ...next, observedGeneration };
  for (const name of ["readyReplicas", "currentReplicas", "updatedReplicas"] as const) {
    // As upstream, counts of zero are omitted.
    if (!written[name]) delete written[name];
  }
  return isEqual(withoutZeros(before), withoutZeros(written)) ? undefined : written;
}

function withoutZeros(status: StatefulSetStatus): Record<string, unknown> {
  return Object.fromEntries(Object.entries(status).filter(([, value]) => value !== 0));
}

/**
 * The condition `Progressing`, for every strategy. False: a failing pod blocks the set; reason and message name the
 * problem and the pod. True: the set is complete or progressing.
 */
export function decideProgress(rollout: Rollout, stoppedAt: Pod | undefined): Condition {
  const blocker = findBlocker(rollout, stoppedAt);
  if (blocker) {
    const { kind, reason, message } = rollout.healthOf(blocker);
    const pod = `pod ${blocker.metadata.name}`;
    if (kind === "progressing") return progressing("True", reason, `waiting for ${pod}: ${message}`);
    return progressing("False", reason, `${pod} blocks the rollout: ${message}${advice(rollout, blocker)}`);
  }
  return currentStep(rollout);
}

const deadlineReason = "ProgressDeadlineExceeded";

/** The condition `Progressing` of a set that made no progress within its deadline, with the pod that it waits for. */
export function deadlineExceeded(rollout: Rollout, stoppedAt: Pod | undefined): Condition {
  const { facts, progressDeadlineMs } = rollout;
  const pod = findBlocker(rollout, stoppedAt) ?? findNext(rollout);
  const words = `StatefulSet "${facts.set.metadata.name}" has timed out progressing: no progress for ${progressDeadlineMs / 1_000} s`;
  if (!pod) return progressing("False", deadlineReason, words);
  const state = isCreated(pod)
    ? `: ${rollout.healthOf(pod).message}${advice(rollout, pod)}`
    : " is not created";
  return progressing("False", deadlineReason, `${words}; pod ${pod.metadata.name}${state}`);
}

/** The pod that the next step of a rollout concerns, if no pod blocks it. */
function findNext(rollout: Rollout): Pod | undefined {
  const { replicas, condemned } = rollout;
  const missing = replicas.find((pod) => !isCreated(pod));
  return missing ?? condemned[0] ?? replicas.findLast((pod) => isDue(rollout, pod));
}

/** Messages of runtimes may be long. */
const maxMessageLength = 2_048;

/** The first failing pod of those that the set waits for, else the first one. */
function findBlocker(rollout: Rollout, stoppedAt: Pod | undefined): Pod | undefined {
  const waitedFor = stoppedAt
    ? [stoppedAt]
    : rollout.replicas
        .toReversed()
        .filter((pod) => rollout.isUnavailable(pod) && !willBeReplaced(rollout, pod));
  const created = waitedFor.filter(isCreated);
  return created.find((pod) => rollout.healthOf(pod).kind !== "progressing") ?? created[0];
}

/** Whether the pod is replaced in any case, so that the set does not wait for it. */
function willBeReplaced(rollout: Rollout, pod: Pod): boolean {
  const { strategy, burst, permanentOnly } = rollout;
  if (!isDue(rollout, pod)) return false;
  if (strategy === "RollingUpdate") return burst;
  if (strategy !== "EnforcedRollingUpdate") return false;
  return !permanentOnly || rollout.cannotRecover(pod);
}

/** What to do about an outdated pod that the strategy does not replace. */
function advice(rollout: Rollout, pod: Pod): string {
  const { facts, strategy } = rollout;
  const isReplaced = isTerminating(pod) || strategy === "EnforcedRollingUpdate" || strategy === "Recreate";
  if (isReplaced || !isDue(rollout, pod)) return "";
  const from = `it runs ${revisionOf(pod) || "no revision"} instead of ${facts.update.name}`;
  if (facts.set.spec?.updateStrategy?.type === "EnforcedRollingUpdate")
    return `; ${from}, and annotation ${unstickAnnotation} does not allow replacing it: delete the pod, or change the annotation`;
  return `; ${from}, and ${strategy} does not replace it: delete the pod, or use EnforcedRollingUpdate`;
}

function currentStep(rollout: Rollout): Condition {
  const { facts, replicas, condemned, isOld } = rollout;
  const update = facts.update.name;
  const created = replicas.filter(isCreated).length;
  if (created < replicas.length) {
    return progressing("True", "CreatingPods", `${created} of ${replicas.length} pods are created`);
  }
  const old = replicas.filter((pod) => isDue(rollout, pod));
  if (old.length > 0) {
    const pods = `${old.length} of ${replicas.length} pods do not run ${update} yet`;
    if (rollout.strategy === "OnDelete") return progressing("True", "WaitingForDelete", pods);
    return progressing("True", "UpdatingPods", pods);
  }
  if (condemned.length > 0) {
    return progressing("True", "ScalingDown", `${condemned.length} pods more than wanted`);
  }
  const kept = replicas.filter(isOld).length;
  const below = kept > 0 ? `, ${kept} below the partition` : "";
  return progressing("True", "RolloutComplete", `${replicas.length - kept} pods run ${update}${below}`);
}

function progressing(status: "True" | "False", reason: string, message: string): Condition {
  return { type: "Progressing", status, reason, message: message.slice(0, maxMessageLength) };
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
 * Upstream's conditions after the old pods are gone. A failing pod is reported as for every strategy, and so is a set
 * that was never recreated.
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
