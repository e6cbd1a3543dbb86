import type { ObjectKey, ResourceName } from "../client/client.ts";
import { resourceNamed } from "../client/resource-path.ts";
import type { ObjectRef } from "./test-client.ts";

const defaultNamespace = "default";

/** With the namespace that is meant, for what has one. */
export function keyOf(resource: ResourceName, ref: ObjectRef): ObjectKey {
  const given = typeof ref === "string" ? { name: ref } : "metadata" in ref ? ref.metadata : ref;
  const { name = "" } = given;
  if (name === "")
    throw new TypeError(`metadata.name: the name of which of the ${resource} is meant is missing`);
  const namespace = "namespace" in given ? given.namespace : undefined;
  return resourceNamed(resource).namespaced ? { namespace: namespace ?? defaultNamespace, name } : { name };
}

/** The object, in the namespace that is meant. */
export function inNamespace<T extends { metadata: { namespace?: string } }>(
  { namespaced }: { readonly namespaced: boolean },
  object: T,
): T {
  if (!namespaced || object.metadata.namespace) return object;
  return { ...object, metadata: { ...object.metadata, namespace: defaultNamespace } };
}

/** `pods shop/web`, `nodes node-1`: for messages. */
export function describeKey(resource: ResourceName, { namespace, name }: ObjectKey): string {
  return `${resource} ${namespace ? `${namespace}/` : ""}${name}`;
}
