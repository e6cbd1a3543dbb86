import type { PersistentVolume, PersistentVolumeClaim } from "../../api/objects.ts";
import { labelOf } from "../node-info.ts";
import type { ApiObjects } from "../snapshot.ts";

export const selectedNodeAnnotation = "volume.kubernetes.io/selected-node";
export const boundByControllerAnnotation = "pv.kubernetes.io/bound-by-controller";
const bindCompletedAnnotation = "pv.kubernetes.io/bind-completed";
const classAnnotation = "volume.beta.kubernetes.io/storage-class";

/** Both sides have agreed. */
export function isFullyBound({ metadata, spec }: PersistentVolumeClaim): boolean {
  return Boolean(spec?.volumeName) && labelOf(metadata.annotations, bindCompletedAnnotation) !== undefined;
}

export function classOfClaim({ metadata, spec }: PersistentVolumeClaim): string {
  return labelOf(metadata.annotations, classAnnotation) ?? spec?.storageClassName ?? "";
}

export function classOfVolume({ metadata, spec }: PersistentVolume): string {
  return labelOf(metadata.annotations, classAnnotation) ?? spec?.storageClassName ?? "";
}

/** Whether a claim waits for the first pod that uses it. */
export function isDelayed(claim: PersistentVolumeClaim, objects: ApiObjects): boolean {
  const className = classOfClaim(claim);
  const storageClass = className ? objects.storageClass(className) : undefined;
  if (!storageClass) return false;
  if (!storageClass.volumeBindingMode) {
    throw new Error(`VolumeBindingMode not set for StorageClass "${className}"`);
  }
  return storageClass.volumeBindingMode === "WaitForFirstConsumer";
}

export function keyOfClaim({ metadata: { namespace, name } }: PersistentVolumeClaim): string {
  return `${namespace}/${name}`;
}

/** Whether a volume is meant for a claim, as far as it says. */
export function isMeantFor({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const ref = spec?.claimRef;
  if (!ref || ref.name !== metadata.name || ref.namespace !== metadata.namespace) return false;
  return !ref.uid || ref.uid === metadata.uid;
}
