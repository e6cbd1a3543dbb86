import type { KubeObject } from "../../../meta/objects.ts";

/** Annotation of a Deployment and its ReplicaSets with their revision. */
export const revisionAnnotation = "deployment.kubernetes.io/revision";

/** Revision of a Deployment or ReplicaSet, an int64. 0 without annotation, undefined if the annotation is not an int64. */
export function revisionOf({ metadata }: KubeObject): bigint | undefined {
  const text = metadata.annotations?.[revisionAnnotation];
  if (text === undefined) return 0n;
  const [, sign, digits] = /^([-+]?)([0-9]+)$/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const revision = sign === "-" ? -BigInt(digits) : BigInt(digits);
  return BigInt.asIntN(64, revision) === revision ? revision : undefined;
}

/** Orders by revision, lowest first. An object whose revision is not a number counts as 0. */
export function byRevision(a: KubeObject, b: KubeObject): number {
  const difference = (revisionOf(a) ?? 0n) - (revisionOf(b) ?? 0n);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}
