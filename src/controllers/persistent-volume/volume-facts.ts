import type { KubeObject, PersistentVolume, Pod } from "../../api/objects.ts";

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

/** The key of the claim that a volume is held for. */
export function heldKeyOf({ spec }: PersistentVolume): string {
  return `${spec?.claimRef?.namespace}/${spec?.claimRef?.name}`;
}

/** The names of the claims that a pod uses. */
export function claimNamesOf({ spec }: Pod): string[] {
  return (spec?.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []);
}
