import type { KubeObject } from "./objects.ts";

/** Whether one resource version comes after another. Kubernetes orders them as numbers; what is none is not newer. */
export function isNewerVersion(version: string | undefined, than: string | undefined): boolean {
  if (!version || !/^\d+$/.test(version)) return false;
  if (!than || !/^\d+$/.test(than)) return true;
  return version.length === than.length ? version > than : version.length > than.length;
}

/** Of two copies of an object, the one that came later. */
export function newerCopy<T extends KubeObject>(seen: T, other: T | undefined): T {
  if (!other || other.metadata.uid !== seen.metadata.uid) return seen;
  return isNewerVersion(other.metadata.resourceVersion, seen.metadata.resourceVersion) ? other : seen;
}
