import type { CachedObject } from "./cached-object.ts";

/** One change of one object: created when `before` is missing, deleted when `after` is. */
export interface Change {
  readonly revision: number;
  readonly key: string;
  readonly before: CachedObject | undefined;
  readonly after: CachedObject | undefined;
}

export type ChangeListener = (change: Change) => void;

/** The objects that a watcher's selectors can match, as far as they are indexed. */
export type WatchScope =
  | { readonly kind: "all" }
  | { readonly kind: "namespace"; readonly prefix: string }
  | { readonly kind: "object"; readonly key: string }
  | { readonly kind: "node"; readonly nodeName: string };

/** Watchers by scope, so that a change costs time for its own watchers only. */
export interface WatcherIndex {
  add(scope: WatchScope, listener: ChangeListener): () => void;
  notify(change: Change): void;
  size(): number;
}

export function createWatcherIndex(): WatcherIndex {
  const all = new Set<ChangeListener>();
  const byNamespace = new Map<string, Set<ChangeListener>>();
  const byKey = new Map<string, Set<ChangeListener>>();
  const byNode = new Map<string, Set<ChangeListener>>();

  function add(scope: WatchScope, listener: ChangeListener): () => void {
    switch (scope.kind) {
      case "all":
        all.add(listener);
        return () => all.delete(listener);
      case "namespace":
        return addTo(byNamespace, scope.prefix, listener);
      case "object":
        return addTo(byKey, scope.key, listener);
      case "node":
        return addTo(byNode, scope.nodeName, listener);
    }
  }

  function notify(change: Change): void {
    for (const listener of all) listener(change);
    if (byNamespace.size > 0) {
      const prefix = change.key.slice(0, change.key.lastIndexOf("/") + 1);
      notifyAll(byNamespace.get(prefix), change);
    }
    if (byKey.size > 0) notifyAll(byKey.get(change.key), change);
    if (byNode.size > 0) {
      const before = nodeNameOf(change.before);
      const after = nodeNameOf(change.after);
      if (before !== undefined) notifyAll(byNode.get(before), change);
      if (after !== undefined && after !== before) notifyAll(byNode.get(after), change);
    }
  }

  return {
    add,
    notify,
    size: () => all.size + countAll(byNamespace) + countAll(byKey) + countAll(byNode),
  };
}

function nodeNameOf(object: CachedObject | undefined): string | undefined {
  return object?.facts().fields["spec.nodeName"];
}

function notifyAll(listeners: ReadonlySet<ChangeListener> | undefined, change: Change): void {
  if (listeners) for (const listener of listeners) listener(change);
}

function addTo(index: Map<string, Set<ChangeListener>>, key: string, listener: ChangeListener): () => void {
  const listeners = index.get(key) ?? new Set();
  index.set(key, listeners.add(listener));
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0 && index.get(key) === listeners) index.delete(key);
  };
}

function countAll(index: ReadonlyMap<string, ReadonlySet<unknown>>): number {
  let count = 0;
  for (const listeners of index.values()) count += listeners.size;
  return count;
}
