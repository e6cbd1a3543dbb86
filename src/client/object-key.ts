import type { KubeObject } from "../api/objects.ts";

/** `namespace/name`, or `name` for what has no namespace: as informers and queues know an object. */
export function keyOf({ metadata: { namespace, name = "" } }: KubeObject): string {
  return namespace ? `${namespace}/${name}` : name;
}
