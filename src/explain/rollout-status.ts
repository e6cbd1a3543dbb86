// Clauses: 3541-12
import { conditionOf } from "../api/meta/object-facts.ts";
import type { Deployment, Pod, StatefulSet } from "../api/meta/objects.ts";
import { podHealth } from "./pod-health.ts";
import { progressDeadlineOf } from "./rollout-policy.ts";
import { startState } from "./start-state.ts";
import { findBlockingPod, revisionOf } from "./stateful-set-pods.ts";

/** State of a rollout. `failed`: no progress within the deadline, or the controller does not support the strategy. */
export interface RolloutStatus {
  readonly kind: "complete" | "progressing" | "failed";
  /** One line that says what has happened or what the rollout waits for. */
  readonly message: string;
}

const unobserved: RolloutStatus = {
  kind: "progressing",
  message: "Waiting for the controller to observe the latest change",
};

interface SetOptions {
  readonly pods: readonly Pod[];
  /** Time since which the counts in the status are unchanged, for controllers without a progress deadline. */
  readonly unchangedSince: number;
  readonly now: number;
}

/**
 * Returns the state of a StatefulSet's rollout. Kindling's controller reports it in conditions. For another controller it
 * is derived from the status and the pods, as `kubectl rollout status` does, with the same deadline.
 */
export function statefulSetRollout(set: StatefulSet, options: SetOptions): RolloutStatus {
  const { metadata, status } = set;
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0)) return unobserved;
  const counts = `${updatedOf(set)} of ${wantedOf(set)} pods updated, ${availableOf(set)} available`;
  const complete = conditionOf(set, "RolloutComplete");
  if (!complete) return derivedRollout(set, counts, options);
  const { reason, message = "" } = complete;
  if (complete.status === "True") return rolledOut(set, message);
  const failed = reason === "ProgressDeadlineExceeded" || reason === "UnknownStrategy";
  return failed ? { kind: "failed", message } : { kind: "progressing", message: `${counts}: ${message}` };
}

function derivedRollout(
  set: StatefulSet,
  counts: string,
  { pods, unchangedSince, now }: SetOptions,
): RolloutStatus {
  const { spec, status } = set;
  const wanted = wantedOf(set);
  const kept = Math.min(wanted, spec?.updateStrategy?.rollingUpdate?.partition ?? 0);
  const isComplete =
    status?.replicas === wanted && availableOf(set) >= wanted && updatedOf(set) >= wanted - kept;
  const run = `${wanted - kept} pods run ${status?.updateRevision ?? "the update revision"}`;
  if (isComplete) return rolledOut(set, kept > 0 ? `${run}, ${kept} below the partition` : run);

  const { minReadySeconds = 0 } = spec ?? {};
  const { progressDeadlineMs } = progressDeadlineOf(set);
  const blocking = findBlockingPod(pods, status?.updateRevision);
  const wait = blocking
    ? `waiting for pod ${blocking.metadata.name}: ${podHealth(blocking, { minReadySeconds, now }).message}`
    : "waiting for the controller";
  const isStarting = pods.some((pod) => {
    const state = startState(pod, { minReadySeconds, progressDeadlineMs, now });
    return state.kind === "starting" && state.untilMs !== undefined;
  });
  if (isStarting || now - unchangedSince < progressDeadlineMs)
    return { kind: "progressing", message: `${counts}: ${wait}` };
  const words = `StatefulSet "${set.metadata.name}" has timed out progressing: no progress for ${progressDeadlineMs / 1_000} s`;
  return { kind: "failed", message: `${words}; ${counts}, ${wait}` };
}

function rolledOut({ metadata }: StatefulSet, message: string): RolloutStatus {
  return { kind: "complete", message: `statefulset "${metadata.name}" successfully rolled out: ${message}` };
}

const wantedOf = ({ spec }: StatefulSet) => spec?.replicas ?? 1;
const availableOf = ({ status }: StatefulSet) => status?.availableReplicas ?? status?.readyReplicas ?? 0;

/** `updatedReplicas` is missing in the status of a set that was never updated on older clusters. */
function updatedOf({ status }: StatefulSet): number {
  const { currentRevision, updateRevision, updatedReplicas, currentReplicas } = status ?? {};
  return updatedReplicas ?? (currentRevision === updateRevision ? (currentReplicas ?? 0) : 0);
}

/** Returns the state of a Deployment's rollout in the words of `kubectl rollout status`. */
export function deploymentRollout(deployment: Deployment): RolloutStatus {
  const { metadata, spec, status } = deployment;
  const name = `deployment "${metadata.name}"`;
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0)) return unobserved;
  const progressing = conditionOf(deployment, "Progressing");
  if (progressing?.reason === "ProgressDeadlineExceeded") {
    const { message } = progressing;
    return {
      kind: "failed",
      message: `${name} exceeded its progress deadline${message ? `: ${message}` : ""}`,
    };
  }
  const wanted = spec?.replicas ?? 1;
  const { updatedReplicas = 0, availableReplicas = 0, replicas = 0 } = status ?? {};
  const waiting = (rest: string): RolloutStatus => ({
    kind: "progressing",
    message: `Waiting for ${name} rollout to finish: ${rest}`,
  });
  if (updatedReplicas < wanted)
    return waiting(`${updatedReplicas} out of ${wanted} new replicas have been updated`);
  if (replicas > updatedReplicas)
    return waiting(`${replicas - updatedReplicas} old replicas are pending termination`);
  if (availableReplicas < updatedReplicas)
    return waiting(`${availableReplicas} of ${updatedReplicas} updated replicas are available`);
  return { kind: "complete", message: `${name} successfully rolled out` };
}

/** Describes a pod of a StatefulSet during its rollout: its revision and what it waits for. */
export function describeRolloutPod(
  pod: Pod,
  { set, now }: { readonly set: StatefulSet; readonly now: number },
): { readonly name: string; readonly revision: "new" | "old"; readonly state: string } {
  const { minReadySeconds = 0 } = set.spec ?? {};
  const { progressDeadlineMs } = progressDeadlineOf(set);
  const isAvailable = startState(pod, { minReadySeconds, progressDeadlineMs, now }).kind === "available";
  return {
    name: pod.metadata.name ?? "",
    revision: revisionOf(pod) === set.status?.updateRevision ? "new" : "old",
    state: isAvailable ? "available" : podHealth(pod, { minReadySeconds, now }).message,
  };
}
