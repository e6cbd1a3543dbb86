import { isEqual } from "../../api/is-equal.ts";
import type { PersistentVolume, PersistentVolumeClaim } from "../../api/objects.ts";
import { bindCompletedAnnotation, boundByControllerAnnotation } from "../../api/volume-binding.ts";
import { annotationOf, withAnnotations, withoutAnnotation } from "./volume-facts.ts";

// Objects as they are to be. The same object comes back when nothing has to change: then nothing is written.

/** A volume that was bound here is free again; one that a person held for a claim stays held for its name. */
export function volumeLetGo(volume: PersistentVolume): PersistentVolume {
  if (annotationOf(volume, boundByControllerAnnotation) !== undefined) {
    const { claimRef: _, ...spec } = volume.spec ?? {};
    return withoutAnnotation({ ...volume, spec }, boundByControllerAnnotation);
  }
  const { uid: _, ...claimRef } = volume.spec?.claimRef ?? {};
  return { ...volume, spec: { ...volume.spec, claimRef } };
}

export function volumeInPhase(volume: PersistentVolume, phase: string, message?: string): PersistentVolume {
  if (volume.status?.phase === phase) return volume;
  const { message: _, ...status } = volume.status ?? {};
  return { ...volume, status: { ...status, phase, ...(message && { message }) } };
}

export function claimBoundTo(claim: PersistentVolumeClaim, volume: PersistentVolume): PersistentVolumeClaim {
  const isNamed = claim.spec?.volumeName === volume.metadata.name;
  const isCompleted = annotationOf(claim, bindCompletedAnnotation) !== undefined;
  if (isNamed && isCompleted) return claim;
  const named = { ...claim, spec: { ...claim.spec, volumeName: volume.metadata.name } };
  return withAnnotations(named, {
    ...(!isNamed && { [boundByControllerAnnotation]: "yes" }),
    [bindCompletedAnnotation]: "yes",
  });
}

/** Bound to the volume; without one, in a phase in which a claim has none. */
export function claimInPhase(
  claim: PersistentVolumeClaim,
  phase: "Pending" | "Bound" | "Lost",
  volume?: PersistentVolume,
): PersistentVolumeClaim {
  const { accessModes, capacity, ...rest } = claim.status ?? {};
  const size = rest.phase === phase && volume ? capacity : volume?.spec?.capacity;
  const status = {
    ...rest,
    phase,
    ...(volume?.spec?.accessModes && { accessModes: volume.spec.accessModes }),
    ...(size && { capacity: size }),
  };
  return isEqual(status, claim.status) ? claim : { ...claim, status };
}
