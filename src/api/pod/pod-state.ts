import { conditionOf, controllerOf, isReady } from "../meta/object-facts.ts";
import type { KubeObject, Pod } from "../meta/objects.ts";

/** Whether the pod exists in the API. A planned pod has no phase. */
export function isCreated({ status }: Pod): boolean {
  return Boolean(status?.phase);
}

export function isTerminating({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined;
}

export function isRunningAndReady(pod: Pod): boolean {
  return pod.status?.phase === "Running" && isReady(pod);
}

/** Milliseconds until the pod is available. 0 if it is available, undefined if it is not ready. */
export function availableInMs(pod: Pod, minReadySeconds: number, now: number): number | undefined {
  if (!isReady(pod)) return undefined;
  if (minReadySeconds === 0) return 0;
  const since = Date.parse(conditionOf(pod, "Ready")?.lastTransitionTime ?? "");
  if (Number.isNaN(since)) return undefined;
  return Math.max(0, since + minReadySeconds * 1_000 - now);
}

export function isAvailable(pod: Pod, minReadySeconds: number, now: number): boolean {
  return availableInMs(pod, minReadySeconds, now) === 0;
}

/** Phases that a pod never leaves. */
export function isFinalPhase(phase: string | undefined): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

/** Whether the pod has finished. */
export function hasEnded({ status }: { readonly status?: { readonly phase?: string } }): boolean {
  return isFinalPhase(status?.phase);
}

/** Prefix of the name of the volume that admission adds for the token of the pod's service account. */
export const tokenVolumePrefix = "kube-api-access-";

/** Annotation of a mirror pod with the hash of its static pod. */
export const mirrorAnnotation = "kubernetes.io/config.mirror";

/** Whether the pod is a mirror pod: the API object of a static pod that its kubelet runs from a file. */
export function isMirrorPod({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[mirrorAnnotation] !== undefined;
}

interface OwnerFacts {
  readonly kind: string;
  readonly name: string;
  /** `pod-template-hash` or `controller-revision-hash`. */
  readonly revision: string;
}

/** `Kind/name` of the workload that owns a pod. For a ReplicaSet of a Deployment, this is the Deployment. */
export function nameWorkload({ kind, name, revision }: OwnerFacts): string {
  const ending = `-${revision}`;
  if (kind === "ReplicaSet" && revision && name.endsWith(ending)) {
    return `Deployment/${name.slice(0, -ending.length)}`;
  }
  return `${kind}/${name}`;
}

/** `Kind/name` of the pod's workload. A pod without a controller is its own workload. */
export function workloadOf(pod: Pod): string {
  const { name = "", labels = {} } = pod.metadata;
  const owner = controllerOf(pod);
  const revision = labels["controller-revision-hash"] ?? labels["pod-template-hash"] ?? "";
  return nameWorkload({ kind: owner?.kind ?? "Pod", name: owner?.name ?? name, revision });
}
