import type { PersistentVolume, PersistentVolumeClaim } from "../../api/meta/objects.ts";
import { volumeModeOf } from "../../api/pod/volume-binding.ts";
import { annotationOf, localProvisioner, provisionedByAnnotation } from "./storage-objects.ts";

export type VolumePlan =
  | { readonly kind: "phase"; readonly phase: "Available" | "Bound" }
  /** The claim is not bound yet and has to be synced. */
  | { readonly kind: "requeueClaim" }
  /** The volume and the claim are incompatible. */
  | { readonly kind: "mismatch" }
  /** The claim is gone or has another volume. */
  | { readonly kind: "release" }
  | { readonly kind: "unbind" };

/** Decides for a volume and its claim, which is undefined if it does not exist. */
export function decideVolume(volume: PersistentVolume, claim: PersistentVolumeClaim | undefined): VolumePlan {
  const holder = volume.spec?.claimRef;
  if (!holder?.uid) return { kind: "phase", phase: "Available" };
  if (claim?.metadata.uid !== holder.uid) return { kind: "release" };
  const { volumeName } = claim.spec ?? {};
  if (!volumeName)
    return volumeModeOf(claim) === volumeModeOf(volume) ? { kind: "requeueClaim" } : { kind: "mismatch" };
  if (volumeName === volume.metadata.name) return { kind: "phase", phase: "Bound" };
  const isProvisioned = annotationOf(volume, provisionedByAnnotation) !== undefined;
  const isDisposable = isProvisioned && volume.spec?.persistentVolumeReclaimPolicy === "Delete";
  return { kind: isDisposable ? "release" : "unbind" };
}

export type Reclaim =
  /** The data is kept, or another provisioner is responsible for it. */
  | { readonly kind: "leave" }
  | { readonly kind: "removeLocal" }
  | { readonly kind: "fail"; readonly reason: string; readonly message: string };

/** Decides what to do with the data of a released volume. */
export function decideReclaim(volume: PersistentVolume): Reclaim {
  const { name } = volume.metadata;
  switch (volume.spec?.persistentVolumeReclaimPolicy) {
    case "Retain":
      return { kind: "leave" };
    case "Delete": {
      const provisioner = annotationOf(volume, provisionedByAnnotation);
      if (provisioner === localProvisioner) return { kind: "removeLocal" };
      if (provisioner !== undefined || !(volume.spec.hostPath || volume.spec.local)) return { kind: "leave" };
      const problem = "no deletable volume plugin matched";
      const message = `error getting deleter volume plugin for volume "${name}": ${problem}`;
      return { kind: "fail", reason: "VolumeFailedDelete", message };
    }
    case "Recycle": {
      const message = "No recycler plugin found for the volume!";
      return { kind: "fail", reason: "VolumeFailedRecycle", message };
    }
    default: {
      const message = "Volume has unrecognized PersistentVolumeReclaimPolicy";
      return { kind: "fail", reason: "VolumeUnknownReclaimPolicy", message };
    }
  }
}
