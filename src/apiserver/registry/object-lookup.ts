import type { KubeObject } from "../../api/objects.ts";
import { findResource, type Resource } from "../../api/resources.ts";
import { keyPrefix } from "./object-key.ts";
import type { Registry } from "./registry.ts";

/** Typed access to the objects of one kind, for the server's own needs. What it gives must not be changed. */
export interface ObjectLookup<T extends KubeObject = KubeObject> {
  readonly resource: Resource;
  /** From the cache, without waiting. */
  cached(namespace: string, name: string): T | undefined;
  /** From the store itself when other servers write to it too. */
  current(namespace: string, name: string): Promise<T | undefined>;
  all(namespace?: string): Generator<T>;
  /** Called after each change, with the object before and after it. */
  onChange(listener: (before: T | undefined, after: T | undefined) => void): () => void;
}

export function lookupOf<T extends KubeObject>(
  registry: Registry,
  group: string,
  plural: string,
): ObjectLookup<T> {
  const found = findResource(group, "v1", plural);
  if (!found) throw new Error(`${plural}.${group} is not served`);
  const resource = found;
  const cache = registry.cache(resource);
  return {
    resource,
    cached: (namespace, name) => registry.peek({ resource, namespace, name })?.view() as T | undefined,
    async current(namespace, name) {
      return (await registry.find({ resource, namespace, name }))?.view() as T | undefined;
    },
    *all(namespace) {
      for (const object of cache.range(keyPrefix(resource, namespace))) yield object.view() as T;
    },
    onChange: (listener) =>
      cache.watch({ kind: "all" }, ({ before, after }) =>
        listener(before?.view() as T | undefined, after?.view() as T | undefined),
      ),
  };
}
