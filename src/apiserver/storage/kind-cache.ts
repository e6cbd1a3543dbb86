import type { KubeObject } from "../../api/meta/objects.ts";
import { createSortedKeys } from "../../lib/sorted-keys.ts";
import type { Entry } from "../../store/store.ts";
import { type CachedKind, CachedObject } from "./cached-object.ts";
import { type Change, type ChangeListener, createWatcherIndex, type WatchScope } from "./watcher-index.ts";

/** All objects of one kind, their last changes and their watchers. */
export interface KindCache {
  get(key: string): CachedObject | undefined;
  /** Objects whose key starts with `prefix`, after the key `after` if given, in key order. */
  range(prefix: string, after?: string): Generator<CachedObject>;
  /** Number of objects with the prefix after the key. */
  countAfter(prefix: string, key: string): number;
  put(entry: Entry, revision: number): void;
  /** Registers an object that is about to be written. Returns a function that removes it. */
  trackPendingWrite(key: string, draft: Draft): () => void;
  remove(key: string, revision: number): void;
  /**
   * Changes after `revision`, or undefined when some of them are no longer kept. With a limit, at most that many and
   * the rest of the last one's revision.
   */
  changesAfter(revision: number, limit?: number): readonly Change[] | undefined;
  watch(scope: WatchScope, listener: ChangeListener): () => void;
  watcherCount(): number;
  /** The number of changes so far. Several of them can have the same revision. */
  changeCount(): number;
  size(): number;
}

interface Draft {
  readonly value: Buffer;
  readonly object: KubeObject;
}

/** Number of changes of a kind that are kept for watches that start in the past. Older ones are read from the store. */
const keptChanges = 1_000;

/** End of a page. Changes of one revision are never split. */
function endOfPage(changes: readonly Change[], first: number, limit: number): number {
  let end = Math.min(first + limit, changes.length);
  while (end < changes.length && changes[end]?.revision === changes[end - 1]?.revision) end++;
  return end;
}

export function createKindCache(kind: CachedKind, loadedAt: number): KindCache {
  const objects = new Map<string, CachedObject>();
  const keys = createSortedKeys();
  const watchers = createWatcherIndex();
  const drafts = new Map<string, Draft>();
  let changes: Change[] = [];
  /** Every change after this revision is in `changes`. */
  let completeAfter = loadedAt;
  let changeCount = 0;

  function record(change: Change): void {
    changeCount++;
    changes.push(change);
    // Trimmed rarely and by half, so that the cost of a change stays constant.
    if (changes.length >= 2 * keptChanges) {
      completeAfter = changes[keptChanges - 1]?.revision ?? completeAfter;
      changes = changes.slice(keptChanges);
    }
    watchers.notify(change);
  }

  return {
    get: (key) => objects.get(key),
    *range(prefix, after) {
      const start = after === undefined || after < prefix ? prefix : `${after}\0`;
      for (const key of keys.from(start)) {
        if (!key.startsWith(prefix)) return;
        const object = objects.get(key);
        if (object) yield object;
      }
    },
    countAfter(prefix, key) {
      let count = 0;
      for (const other of keys.from(`${key}\0`)) {
        if (!other.startsWith(prefix)) break;
        count++;
      }
      return count;
    },
    put(entry, revision) {
      const before = objects.get(entry.key);
      const draft = drafts.get(entry.key);
      // Compared by identity, because another writer may have replaced the key.
      const written = draft?.value === entry.value ? { object: draft.object, before } : undefined;
      const after = new CachedObject(kind, entry, written);
      objects.set(entry.key, after);
      if (!before) keys.insert(entry.key);
      record({ revision, key: entry.key, before, after });
      after.dropDraft();
    },
    trackPendingWrite(key, draft) {
      drafts.set(key, draft);
      return () => {
        if (drafts.get(key) === draft) drafts.delete(key);
      };
    },
    remove(key, revision) {
      const before = objects.get(key);
      if (!before) return;
      objects.delete(key);
      keys.remove(key);
      record({ revision, key, before, after: undefined });
    },
    changesAfter(revision, limit = changes.length) {
      if (revision < completeAfter) return undefined;
      const first = changes.findIndex((change) => change.revision > revision);
      return first === -1 ? [] : changes.slice(first, endOfPage(changes, first, limit));
    },
    watch: (scope, listener) => watchers.add(scope, listener),
    watcherCount: () => watchers.size(),
    changeCount: () => changeCount,
    size: () => objects.size,
  };
}
