import type { KubeObject, PersistentVolume, PersistentVolumeClaim, Pod } from "../../api/meta/objects.ts";
import type { Client } from "../../client/api/client.ts";
import { claimNamesOf } from "./storage-objects.ts";

const claimProtection = "kubernetes.io/pvc-protection";
export const volumeProtection = "kubernetes.io/pv-protection";

export type Protection = "keep" | "add" | "remove";

/** The finalizer of a claim stays while a scheduled pod uses it. */
export function decideClaimProtection(claim: PersistentVolumeClaim, pods: Iterable<Pod>): Protection {
  return decide(claim, claimProtection, () => [...pods].some((pod) => usesClaim(pod, claim)));
}

/** The finalizer of a volume stays while it is bound. */
export function decideVolumeProtection(volume: PersistentVolume): Protection {
  return decide(volume, volumeProtection, () => volume.status?.phase === "Bound");
}

function decide({ metadata }: KubeObject, finalizer: string, isUsed: () => boolean): Protection {
  const isProtected = metadata.finalizers?.includes(finalizer) ?? false;
  if (!metadata.deletionTimestamp) return isProtected ? "keep" : "add";
  return isProtected && !isUsed() ? "remove" : "keep";
}

function usesClaim(pod: Pod, { metadata }: PersistentVolumeClaim): boolean {
  // A pod without a node cannot start any more once the claim is being deleted.
  if (!pod.spec?.nodeName || pod.metadata.namespace !== metadata.namespace) return false;
  return claimNamesOf(pod).includes(metadata.name ?? "");
}

function withFinalizer<T extends KubeObject>(object: T, finalizer: string): T {
  const finalizers = [...(object.metadata.finalizers ?? []), finalizer];
  return { ...object, metadata: { ...object.metadata, finalizers } };
}

export function withoutFinalizer<T extends KubeObject>(object: T, finalizer: string): T {
  const finalizers = object.metadata.finalizers?.filter((name) => name !== finalizer);
  return { ...object, metadata: { ...object.metadata, finalizers } };
}

/** Adds or removes the claim's finalizer. Returns the updated claim, or undefined if it may be deleted now. */
export async function protectClaim(
  client: Client,
  claim: PersistentVolumeClaim,
  { pods, signal }: { readonly pods: readonly Pod[]; readonly signal: AbortSignal },
): Promise<PersistentVolumeClaim | undefined> {
  const { namespace } = claim.metadata;
  switch (decideClaimProtection(claim, pods)) {
    case "keep":
      return claim;
    case "add":
      return client.update("persistentvolumeclaims", withFinalizer(claim, claimProtection), { signal });
    case "remove": {
      // The informer may not have observed a new pod yet: check with the API.
      const live = await client.list("pods", { namespace, signal });
      if (live.items.some((pod) => usesClaim(pod, claim))) return claim;
      await client.update("persistentvolumeclaims", withoutFinalizer(claim, claimProtection), { signal });
      return undefined;
    }
  }
}

/** Adds or removes the volume's finalizer. Returns the updated volume, or undefined if it may be deleted now. */
export async function protectVolume(
  client: Client,
  volume: PersistentVolume,
  signal: AbortSignal,
): Promise<PersistentVolume | undefined> {
  switch (decideVolumeProtection(volume)) {
    case "keep":
      return volume;
    case "add":
      return client.update("persistentvolumes", withFinalizer(volume, volumeProtection), { signal });
    case "remove": {
      const next = withoutFinalizer(volume, volumeProtection);
      const free = await client.update("persistentvolumes", next, { signal });
      return next.metadata.finalizers?.length ? free : undefined;
    }
  }
}
