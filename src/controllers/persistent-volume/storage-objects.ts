import { isEqual } from "../../api/meta/is-equal.ts";
import type {
  KubeObject,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
} from "../../api/meta/objects.ts";
import { bindCompletedAnnotation, boundByControllerAnnotation } from "../../api/pod/volume-binding.ts";

// Desired states of objects. The same object is returned if nothing has to change, and is then not written.

/** Removes the binding of a volume that the controller bound. A volume that was reserved by name stays reserved. */
export function unboundVolume(volume: PersistentVolume): PersistentVolume {
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

/** Claim in a phase; with the capacity and access modes of its volume if it is bound. */
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

export const provisionedByAnnotation = "pv.kubernetes.io/provisioned-by";

export function annotationOf({ metadata }: KubeObject, name: string): string | undefined {
  return metadata.annotations?.[name];
}

export function withAnnotations<T extends KubeObject>(object: T, added: Record<string, string>): T {
  const annotations = { ...object.metadata.annotations, ...added };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

export function withoutAnnotation<T extends KubeObject>(object: T, name: string): T {
  const { [name]: _, ...annotations } = object.metadata.annotations ?? {};
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/** Key of the claim that a volume is reserved for or bound to. */
export function heldKeyOf({ spec }: PersistentVolume): string {
  return `${spec?.claimRef?.namespace}/${spec?.claimRef?.name}`;
}

/** Names of the claims that a pod uses. */
export function claimNamesOf({ spec }: Pod): string[] {
  return (spec?.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []);
}

/** Name of the provisioner for directories on this machine. */
export const localProvisioner = "kindling.dev/local";
const defaultAnnotation = "storageclass.kubernetes.io/is-default-class";

/** The default StorageClass. The newest of several, so that a default can be replaced without a gap. */
export function defaultClassOf(classes: readonly StorageClass[]): StorageClass | undefined {
  const age = ({ metadata }: StorageClass) => `${metadata.creationTimestamp ?? ""}`;
  return classes
    .filter(({ metadata }) => metadata.annotations?.[defaultAnnotation] === "true")
    .reduce<StorageClass | undefined>((newest, each) => {
      if (!newest || age(each) > age(newest)) return each;
      const isEarlier = (each.metadata.name ?? "") < (newest.metadata.name ?? "");
      return age(each) === age(newest) && isEarlier ? each : newest;
    }, undefined);
}

/** StorageClass of a new cluster. Undefined if one of that name exists. */
export function standardClass(classes: readonly StorageClass[]): StorageClass | undefined {
  if (classes.some(({ metadata }) => metadata.name === "standard")) return undefined;
  const isDefault = defaultClassOf(classes) === undefined;
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "standard", ...(isDefault && { annotations: { [defaultAnnotation]: "true" } }) },
    provisioner: localProvisioner,
    reclaimPolicy: "Delete",
    volumeBindingMode: "WaitForFirstConsumer",
  };
}
