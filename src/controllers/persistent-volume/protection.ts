import type { KubeObject, PersistentVolume, PersistentVolumeClaim, Pod } from "../../api/objects.ts";
import { claimNamesOf } from "./volume-facts.ts";

export const claimProtection = "kubernetes.io/pvc-protection";
export const volumeProtection = "kubernetes.io/pv-protection";

export type Protection = "keep" | "add" | "remove";

/** A claim is not let go while a pod that has a node uses it. */
export function decideClaimProtection(claim: PersistentVolumeClaim, pods: Iterable<Pod>): Protection {
  return decide(claim, claimProtection, () => [...pods].some((pod) => usesClaim(pod, claim)));
}

/** A volume is not let go while it is bound. */
export function decideVolumeProtection(volume: PersistentVolume): Protection {
  return decide(volume, volumeProtection, () => volume.status?.phase === "Bound");
}

function decide({ metadata }: KubeObject, finalizer: string, isUsed: () => boolean): Protection {
  const isProtected = metadata.finalizers?.includes(finalizer) ?? false;
  if (!metadata.deletionTimestamp) return isProtected ? "keep" : "add";
  return isProtected && !isUsed() ? "remove" : "keep";
}

export function usesClaim(pod: Pod, { metadata }: PersistentVolumeClaim): boolean {
  // Without a node it cannot start any more, now that the claim goes.
  if (!pod.spec?.nodeName || pod.metadata.namespace !== metadata.namespace) return false;
  return claimNamesOf(pod).includes(metadata.name ?? "");
}

export function withFinalizer<T extends KubeObject>(object: T, finalizer: string): T {
  const finalizers = [...(object.metadata.finalizers ?? []), finalizer];
  return { ...object, metadata: { ...object.metadata, finalizers } };
}

export function withoutFinalizer<T extends KubeObject>(object: T, finalizer: string): T {
  const finalizers = object.metadata.finalizers?.filter((name) => name !== finalizer);
  return { ...object, metadata: { ...object.metadata, finalizers } };
}
