import type { KubeObject } from "../../api/meta/objects.ts";

/** Key of an object in informers and queues: `namespace/name`, or `name` for cluster-scoped objects. */
export function keyOf({ metadata: { namespace, name = "" } }: KubeObject): string {
  return namespace ? `${namespace}/${name}` : name;
}
