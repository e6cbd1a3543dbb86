import type { PersistentVolume, PersistentVolumeClaim } from "./objects.ts";
import { compareQuantities, parseQuantity, type Quantity } from "./quantity.ts";

// What a claim and a volume say of each other, for those who bind them: the controller and the scheduler.

export const bindCompletedAnnotation = "pv.kubernetes.io/bind-completed";
export const boundByControllerAnnotation = "pv.kubernetes.io/bound-by-controller";
export const selectedNodeAnnotation = "volume.kubernetes.io/selected-node";
const classAnnotation = "volume.beta.kubernetes.io/storage-class";

type Either = PersistentVolume | PersistentVolumeClaim;

/** Undefined where none is named; the empty one is a choice too. */
export function namedClassOf({ metadata, spec }: Either): string | undefined {
  return metadata.annotations?.[classAnnotation] ?? spec?.storageClassName;
}

export function classOf(object: Either): string {
  return namedClassOf(object) ?? "";
}

/** Whether a volume is held for a claim; one that says no uid is held for whichever comes with that name. */
export function isHeldFor({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const held = spec?.claimRef;
  if (held?.name !== metadata.name || held?.namespace !== metadata.namespace) return false;
  return !held?.uid || held.uid === metadata.uid;
}

/** The volume as it is to be: held for the claim, and bound by us where nobody else held it. The same one where it is so. */
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

/** What a volume says of the claim that it is held for. */
export function claimRefOf({ metadata }: PersistentVolumeClaim) {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { kind: "PersistentVolumeClaim", apiVersion: "v1", namespace, name, uid, resourceVersion };
}

/** Why a volume cannot serve a claim, whoever chose it. */
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
