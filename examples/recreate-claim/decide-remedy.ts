import type { PersistentVolumeClaim, Pod } from "../../src/api/objects.ts";

/** How far a pod has come, kept on the pod itself: conditions tell only how it is now. */
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
  /** Those of the pod's claims that may be deleted. */
  readonly claims: readonly PersistentVolumeClaim[];
  readonly now: number;
  /** How long a pod may take from its scheduling until it is ready. */
  readonly patienceMs: number;
}

/**
 * What to do about a pod that does not start. Data is deleted in one case only: the sandbox was never ready, so that
 * the volume is a suspect, and nothing can have written to it through this pod. In every doubt the claim stays.
 */
export function decideRemedy({ pod, claims, now, patienceMs }: Facts): Remedy {
  const { metadata, status } = pod;
  const reached = metadata.annotations?.[reachedAnnotation];
  if (metadata.deletionTimestamp) return { kind: "leave", reason: "it is being deleted" };
  if (status?.phase === "Succeeded" || status?.phase === "Failed")
    return { kind: "leave", reason: "it has ended: its owner makes a new one" };
  if (conditionOf(pod, "Ready")?.status === "True" && reached !== "ready")
    return { kind: "mark", reached: "ready" };
  if (reached === "ready") return { kind: "leave", reason: "it has started" };
  const sandbox = conditionOf(pod, "PodReadyToStartContainers");
  if (sandbox?.status === "True" && reached === undefined) return { kind: "mark", reached: "sandbox" };

  const scheduled = conditionOf(pod, "PodScheduled");
  if (scheduled?.status !== "True" || !scheduled.lastTransitionTime)
    return { kind: "leave", reason: "it is not scheduled: another pod would not be either" };
  const patienceEndsMs = Date.parse(scheduled.lastTransitionTime) + patienceMs;
  if (now < patienceEndsMs) return { kind: "waitUntil", atMs: patienceEndsMs };

  if (sandbox === undefined)
    return { kind: "recreatePod", reason: "nobody says whether its sandbox was ever ready" };
  if (reached !== undefined || sandbox.status !== "False" || hasRun(pod))
    return { kind: "recreatePod", reason: "its sandbox was ready: the claim is not to blame" };
  if (claims.length === 0)
    return { kind: "recreatePod", reason: "its sandbox never became ready, and it has no claim" };
  return { kind: "recreateClaims", claims, reason: "its sandbox never became ready" };
}

/** Containers run in a sandbox: where one has run there was one, even if nobody looked just then. */
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
