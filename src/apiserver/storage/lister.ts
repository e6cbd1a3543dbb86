import type { KindDefinition } from "../../api/kinds/kind-definition.ts";
import type { KubeObject } from "../../api/meta/objects.ts";
import type { Resource } from "../../api/meta/resource.ts";
import { keyPrefix } from "./object-key.ts";
import type { ObjectStore } from "./object-store.ts";

/** Typed access to the objects of one kind, for the server's own use. Returned objects must not be changed. */
export interface Lister<T extends KubeObject = KubeObject> {
  readonly resource: Resource;
  /** Reads the cache. */
  cached(namespace: string, name: string): T | undefined;
  /** Reads the store when other servers write to it too. */
  current(namespace: string, name: string): Promise<T | undefined>;
  all(namespace?: string): Generator<T>;
  /** Calls the listener after each change. Returns a function that unsubscribes. */
  onChange(listener: (before: T | undefined, after: T | undefined) => void): () => void;
}

export function createLister<T extends KubeObject>(
  objectStore: ObjectStore,
  { resource }: KindDefinition,
): Lister<T> {
  const cache = objectStore.cache(resource);
  return {
    resource,
    cached: (namespace, name) =>
      objectStore.getCached({ resource, namespace, name })?.view() as T | undefined,
    async current(namespace, name) {
      return (await objectStore.find({ resource, namespace, name }))?.view() as T | undefined;
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
