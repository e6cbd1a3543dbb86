import type { PersistentVolumeClaim } from "../../api/objects.ts";
import { bindCompletedAnnotation, classOf } from "../../api/volume-binding.ts";
import { labelOf } from "../node-info.ts";
import type { ApiObjects } from "../snapshot.ts";

/** Both sides have agreed. */
export function isFullyBound({ metadata, spec }: PersistentVolumeClaim): boolean {
  return Boolean(spec?.volumeName) && labelOf(metadata.annotations, bindCompletedAnnotation) !== undefined;
}

/** Whether a claim waits for the first pod that uses it. */
export function isDelayed(claim: PersistentVolumeClaim, objects: ApiObjects): boolean {
  const className = classOf(claim);
  const storageClass = className ? objects.storageClass(className) : undefined;
  if (!storageClass) return false;
  if (!storageClass.volumeBindingMode) {
    throw new Error(`VolumeBindingMode not set for StorageClass "${className}"`);
  }
  return storageClass.volumeBindingMode === "WaitForFirstConsumer";
}
