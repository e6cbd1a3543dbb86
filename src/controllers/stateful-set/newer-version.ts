import type { KubeObject } from "../../api/objects.ts";

/** Of two copies of an object, the one that came later: resource versions are numbers that grow. */
export function newerVersion<T extends KubeObject>(seen: T, other: T | undefined): T {
  if (!other || other.metadata.uid !== seen.metadata.uid) return seen;
  return versionOf(other) > versionOf(seen) ? other : seen;
}

function versionOf({ metadata: { resourceVersion = "" } }: KubeObject): bigint {
  return /^[0-9]+$/.test(resourceVersion) ? BigInt(resourceVersion) : 0n;
}
