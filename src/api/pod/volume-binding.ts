import type { PersistentVolume, PersistentVolumeClaim } from "../meta/objects.ts";
import { compareQuantities, parseQuantity, type Quantity } from "../meta/quantity.ts";

// Binding of claims and volumes, shared by the controller and the scheduler.

export const bindCompletedAnnotation = "pv.kubernetes.io/bind-completed";
export const boundByControllerAnnotation = "pv.kubernetes.io/bound-by-controller";
export const selectedNodeAnnotation = "volume.kubernetes.io/selected-node";
const classAnnotation = "volume.beta.kubernetes.io/storage-class";

type Either = PersistentVolume | PersistentVolumeClaim;

/** Storage class of an object. Undefined if it names none; the empty class is a valid choice. */
export function namedClassOf({ metadata, spec }: Either): string | undefined {
  return metadata.annotations?.[classAnnotation] ?? spec?.storageClassName;
}

export function classOf(object: Either): string {
  return namedClassOf(object) ?? "";
}

/** Whether a volume is reserved for a claim. Without a UID it is reserved for any claim with the name. */
export function isHeldFor({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const held = spec?.claimRef;
  if (held?.name !== metadata.name || held?.namespace !== metadata.namespace) return false;
  return !held?.uid || held.uid === metadata.uid;
}

/** Returns the volume with a reference to the claim, marked as bound by the controller unless a user reserved it. */
export function holdFor(volume: PersistentVolume, claim: PersistentVolumeClaim): PersistentVolume {
  const isMeant = isHeldFor(volume, claim);
  if (isMeant && volume.spec?.claimRef?.uid) return volume;
  const { annotations } = volume.metadata;
  const bound = { ...annotations, [boundByControllerAnnotation]: "yes" };
  return {
    ...volume,
    metadata: { ...volume.metadata, annotations: isMeant ? annotations : bound },
    spec: { ...volume.spec, claimRef: claimRefOf(claim) },
  };
}

/** Reference of a volume to its claim. */
export function claimRefOf({ metadata }: PersistentVolumeClaim) {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { kind: "PersistentVolumeClaim", apiVersion: "v1", namespace, name, uid, resourceVersion };
}

/** Reason why a volume cannot serve a claim. */
export function whyUnfit(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  if (compareQuantities(sizeOf(volume), wantedSize(claim)) < 0) return "requested PV is too small";
  if (volumeModeOf(volume) !== volumeModeOf(claim)) return "incompatible volumeMode";
  const attributes = ({ spec }: Either) => spec?.volumeAttributesClassName ?? "";
  return attributes(volume) === attributes(claim) ? undefined : "volumeAttributesClassName does not match";
}

export function offersModes({ spec }: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const offered = spec?.accessModes ?? [];
  return (claim.spec?.accessModes ?? []).every((mode) => offered.includes(mode));
}

export function volumeModeOf({ spec }: Either): string {
  return spec?.volumeMode ?? "Filesystem";
}

export function sizeOf({ spec }: PersistentVolume): Quantity {
  return parseQuantity(spec?.capacity?.storage ?? "0");
}

function wantedSize({ spec }: PersistentVolumeClaim): Quantity {
  return parseQuantity(spec?.resources?.requests?.storage ?? "0");
}
