import type { KubeObject } from "../../api/meta/objects.ts";

export type Change<T> = (
  | { readonly kind: "added"; readonly object: T }
  | { readonly kind: "changed"; readonly object: T; readonly previous: T }
  | { readonly kind: "deleted"; readonly object: T }
) & {
  /** Whether the change was found by a list: it is the net effect of all changes since the last observation. */
  readonly listed: boolean;
};

type Indexers<T> = Readonly<Record<string, (object: T) => readonly string[]>>;

export interface ObjectCache<T> {
  get(key: string): T | undefined;
  list(): Iterable<T>;
  byIndex(index: string, value: string): readonly T[];
  /** Ignored when the cache already has this version. */
  put(object: T): void;
  remove(object: T): void;
  /** Starts applying a list. Objects that it does not contain are removed by `complete`. */
  beginList(): ListUpdate<T>;
}

export interface ListUpdate<T> {
  add(object: T): void;
  complete(): void;
}

/** Objects by key and index values. Keeps references only, one parsed copy of each object. */
export function createObjectCache<T extends KubeObject>(
  indexers: Indexers<T>,
  emit: (change: Change<T>) => void,
): ObjectCache<T> {
  const objects = new Map<string, T>();
  /** Keys by index name and value. */
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
    emit({ kind: "deleted", object: last, listed });
  }

  function put(object: T, listed: boolean): void {
    const key = keyOf(object);
    let previous = objects.get(key);
    if (previous?.metadata.resourceVersion === object.metadata.resourceVersion && previous) return;
    if (previous && previous.metadata.uid !== object.metadata.uid) {
      // Deleted and recreated in a gap of the watch: a deletion and an addition, not an update.
      drop(key, previous, listed);
      previous = undefined;
    }
    objects.set(key, object);
    if (previous) unindex(key, previous);
    index(key, object);
    emit(previous ? { kind: "changed", object, previous, listed } : { kind: "added", object, listed });
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

/** Key of an object in informers and queues: `namespace/name`, or `name` for cluster-scoped objects. */
export function keyOf({ metadata: { namespace, name = "" } }: KubeObject): string {
  return namespace ? `${namespace}/${name}` : name;
}
