// Clauses: 3085-14
import type { PersistentVolumeClaim, Pod } from "../../src/api/meta/objects.ts";

/** Annotation with the pod's progress, because conditions show only the current state. */
export const reachedAnnotation = "recreate-claim.example/reached";
export type Reached = "sandbox" | "ready";

export type Remedy =
  | { readonly kind: "leave"; readonly reason: string }
  | { readonly kind: "mark"; readonly reached: Reached }
  | { readonly kind: "waitUntil"; readonly atMs: number }
  | { readonly kind: "recreatePod"; readonly reason: string }
  | {
      readonly kind: "recreateClaims";
      readonly claims: readonly PersistentVolumeClaim[];
      readonly reason: string;
    };

export interface Facts {
  readonly pod: Pod;
  /** Claims of the pod that may be deleted. */
  readonly claims: readonly PersistentVolumeClaim[];
  readonly now: number;
  /** Time that a pod may take from scheduling to ready. */
  readonly timeoutMs: number;
}

/**
 * Decides what to do about a pod that does not start. Data is deleted in one case only: if the sandbox was never ready,
 * the volume may be the cause, and the pod cannot have written to it. In doubt the claim is kept.
 */
export function decideRemedy({ pod, claims, now, timeoutMs }: Facts): Remedy {
  const { metadata, status } = pod;
  const reached = metadata.annotations?.[reachedAnnotation];
  if (metadata.deletionTimestamp) return { kind: "leave", reason: "it is being deleted" };
  if (status?.phase === "Succeeded" || status?.phase === "Failed")
    return { kind: "leave", reason: "it has terminated: its owner recreates it" };
  if (conditionOf(pod, "Ready")?.status === "True" && reached !== "ready")
    return { kind: "mark", reached: "ready" };
  if (reached === "ready") return { kind: "leave", reason: "it has started" };
  const sandbox = conditionOf(pod, "PodReadyToStartContainers");
  if (sandbox?.status === "True" && reached === undefined) return { kind: "mark", reached: "sandbox" };

  const scheduled = conditionOf(pod, "PodScheduled");
  if (scheduled?.status !== "True" || !scheduled.lastTransitionTime)
    return { kind: "leave", reason: "it is not scheduled: another pod would not be either" };
  const deadlineMs = Date.parse(scheduled.lastTransitionTime) + timeoutMs;
  if (now < deadlineMs) return { kind: "waitUntil", atMs: deadlineMs };

  if (sandbox === undefined)
    return { kind: "recreatePod", reason: "the cluster does not report whether its sandbox was ready" };
  if (reached !== undefined || sandbox.status !== "False" || hasRun(pod))
    return { kind: "recreatePod", reason: "its sandbox was ready: the claim is not the cause" };
  if (claims.length === 0)
    return { kind: "recreatePod", reason: "its sandbox never became ready, and it has no claim" };
  return { kind: "recreateClaims", claims, reason: "its sandbox never became ready" };
}

/** Whether a container has run, which implies that the sandbox was ready. */
function hasRun({ status }: Pod): boolean {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return statuses.some(
    ({ restartCount, containerID, lastState }) =>
      restartCount > 0 || Boolean(containerID) || Boolean(lastState?.terminated),
  );
}

function conditionOf({ status }: Pod, type: string) {
  return status?.conditions?.find((condition) => condition.type === type);
}
