import type { KubeObject } from "../api/objects.ts";
import { keyOf } from "./object-key.ts";

export type Change<T> = (
  | { readonly kind: "added"; readonly object: T }
  | { readonly kind: "changed"; readonly object: T; readonly previous: T }
  | { readonly kind: "deleted"; readonly object: T }
) & {
  /** It comes out of a list: the net effect of whatever happened since the object was seen last. */
  readonly listed: boolean;
};

export type Indexers<T> = Readonly<Record<string, (object: T) => readonly string[]>>;

export interface ObjectCache<T> {
  get(key: string): T | undefined;
  list(): Iterable<T>;
  byIndex(index: string, value: string): readonly T[];
  /** Nothing happens when it is there in that version already. */
  put(object: T): void;
  remove(object: T): void;
  /** Begins to take in a list: objects that it does not name go when it is complete. */
  beginList(): ListIntake<T>;
}

export interface ListIntake<T> {
  add(object: T): void;
  complete(): void;
}

/** Objects by key and by index values, telling what changes. Only references are kept: one parsed copy of each object. */
export function createObjectCache<T extends KubeObject>(
  indexers: Indexers<T>,
  tell: (change: Change<T>) => void,
): ObjectCache<T> {
  const objects = new Map<string, T>();
  /** Of each index, the keys under each value. */
  const indexes = new Map(Object.keys(indexers).map((name) => [name, new Map<string, Set<string>>()]));

  function index(key: string, object: T): void {
    for (const [name, values] of indexes) {
      for (const value of indexers[name]?.(object) ?? []) {
        const keys = values.get(value);
        if (keys) keys.add(key);
        else values.set(value, new Set([key]));
      }
    }
  }

  function unindex(key: string, object: T): void {
    for (const [name, values] of indexes) {
      for (const value of indexers[name]?.(object) ?? []) {
        const keys = values.get(value);
        keys?.delete(key);
        if (keys?.size === 0) values.delete(value);
      }
    }
  }

  function drop(key: string, last: T, listed: boolean): void {
    const known = objects.get(key);
    if (!known) return;
    objects.delete(key);
    unindex(key, known);
    tell({ kind: "deleted", object: last, listed });
  }

  function put(object: T, listed: boolean): void {
    const key = keyOf(object);
    let previous = objects.get(key);
    if (previous?.metadata.resourceVersion === object.metadata.resourceVersion && previous) return;
    if (previous && previous.metadata.uid !== object.metadata.uid) {
      // Deleted and created again while nobody looked: two objects, and not one that changed.
      drop(key, previous, listed);
      previous = undefined;
    }
    objects.set(key, object);
    if (previous) unindex(key, previous);
    index(key, object);
    tell(previous ? { kind: "changed", object, previous, listed } : { kind: "added", object, listed });
  }

  return {
    get: (key) => objects.get(key),
    list: () => objects.values(),
    byIndex(name, value) {
      const values = indexes.get(name);
      if (!values) throw new Error(`the informer has no index ${JSON.stringify(name)}`);
      const found: T[] = [];
      for (const key of values.get(value) ?? []) {
        const object = objects.get(key);
        if (object) found.push(object);
      }
      return found;
    },
    put: (object) => put(object, false),
    remove: (object) => drop(keyOf(object), object, false),
    beginList() {
      const listed = new Set<string>();
      return {
        add(object) {
          listed.add(keyOf(object));
          put(object, true);
        },
        complete() {
          for (const [key, object] of objects) if (!listed.has(key)) drop(key, object, true);
        },
      };
    },
  };
}
