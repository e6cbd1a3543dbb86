import type { PersistentVolume, PersistentVolumeClaim } from "../../api/objects.ts";
import { volumeModeOf } from "../../api/volume-binding.ts";
import { localProvisioner } from "./default-class.ts";
import { annotationOf, provisionedByAnnotation } from "./volume-facts.ts";

export type VolumePlan =
  | { readonly kind: "phase"; readonly phase: "Available" | "Bound" }
  /** The claim does not know yet. */
  | { readonly kind: "wakeClaim" }
  /** It fits so little that they cannot come together. */
  | { readonly kind: "mismatch" }
  /** Its claim is gone, or has another one. */
  | { readonly kind: "release" }
  | { readonly kind: "letGo" };

/** What becomes of a volume, given the claim that it is held for; undefined for one that is gone. */
export function decideVolume(volume: PersistentVolume, claim: PersistentVolumeClaim | undefined): VolumePlan {
  const holder = volume.spec?.claimRef;
  if (!holder?.uid) return { kind: "phase", phase: "Available" };
  if (claim?.metadata.uid !== holder.uid) return { kind: "release" };
  const { volumeName } = claim.spec ?? {};
  if (!volumeName)
    return volumeModeOf(claim) === volumeModeOf(volume) ? { kind: "wakeClaim" } : { kind: "mismatch" };
  if (volumeName === volume.metadata.name) return { kind: "phase", phase: "Bound" };
  const isProvisioned = annotationOf(volume, provisionedByAnnotation) !== undefined;
  const isDisposable = isProvisioned && volume.spec?.persistentVolumeReclaimPolicy === "Delete";
  return { kind: isDisposable ? "release" : "letGo" };
}

export type Reclaim =
  /** Nobody touches it, or somebody else does. */
  | { readonly kind: "leave" }
  | { readonly kind: "removeLocal" }
  | { readonly kind: "fail"; readonly reason: string; readonly message: string };

/** What becomes of the data on a volume that was released. */
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
