import type { KubeObject, PersistentVolume, PersistentVolumeClaim, Pod } from "../../api/objects.ts";

export const bindCompletedAnnotation = "pv.kubernetes.io/bind-completed";
export const boundByControllerAnnotation = "pv.kubernetes.io/bound-by-controller";
export const provisionedByAnnotation = "pv.kubernetes.io/provisioned-by";
export const selectedNodeAnnotation = "volume.kubernetes.io/selected-node";
const classAnnotation = "volume.beta.kubernetes.io/storage-class";

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

/** Undefined where none is named; the empty one is a choice too. */
export function namedClassOf(object: PersistentVolume | PersistentVolumeClaim): string | undefined {
  return annotationOf(object, classAnnotation) ?? object.spec?.storageClassName;
}

export function classOf(object: PersistentVolume | PersistentVolumeClaim): string {
  return namedClassOf(object) ?? "";
}

/** Whether a volume is held for a claim; one that says no uid is held for whichever comes with that name. */
export function isHeldFor({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const held = spec?.claimRef;
  if (held?.name !== metadata.name || held?.namespace !== metadata.namespace) return false;
  return !held?.uid || held.uid === metadata.uid;
}

/** The key of the claim that a volume is held for. */
export function heldKeyOf({ spec }: PersistentVolume): string {
  return `${spec?.claimRef?.namespace}/${spec?.claimRef?.name}`;
}

/** The names of the claims that a pod uses. */
export function claimNamesOf({ spec }: Pod): string[] {
  return (spec?.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []);
}
