import type { KubeObject, OwnerReference } from "./objects.ts";

interface Conditioned<Condition> {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export function conditionOf<Condition extends { readonly type: string }>(
  { status }: Conditioned<Condition>,
  type: string,
): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

export function isTrue(
  object: Conditioned<{ readonly type: string; readonly status: string }>,
  type: string,
): boolean {
  return conditionOf(object, type)?.status === "True";
}

/** Whether a pod or node is ready. */
export function isReady(object: Parameters<typeof isTrue>[0]): boolean {
  return isTrue(object, "Ready");
}

/** Owner reference of the controller of an object. */
export function controllerOf({ metadata }: KubeObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find((reference) => reference.controller === true);
}

/** Creates an owner reference to a controller. */
export function controllerReference({ apiVersion, kind, metadata }: KubeObject): OwnerReference {
  const { name = "", uid = "" } = metadata;
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/**
 * Whether one resource version is newer than another. Kubernetes orders them numerically; one that is not a number is
 * never newer.
 */
export function isNewerVersion(version: string | undefined, than: string | undefined): boolean {
  if (!version || !/^\d+$/.test(version)) return false;
  if (!than || !/^\d+$/.test(than)) return true;
  return version.length === than.length ? version > than : version.length > than.length;
}

/** Returns the newer of two copies of an object. */
export function newerCopy<T extends KubeObject>(seen: T, other: T | undefined): T {
  if (!other || other.metadata.uid !== seen.metadata.uid) return seen;
  return isNewerVersion(other.metadata.resourceVersion, seen.metadata.resourceVersion) ? other : seen;
}
