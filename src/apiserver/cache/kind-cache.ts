import type { KubeObject } from "../../api/objects.ts";
import { createSortedKeys } from "../../lib/sorted-keys.ts";
import type { Entry } from "../../store/store.ts";
import { type CachedKind, CachedObject } from "./cached-object.ts";
import { type Change, type ChangeListener, createWatcherIndex, type WatchScope } from "./watcher-index.ts";

/** All objects of one kind, the last changes to them, and who watches. */
export interface KindCache {
  get(key: string): CachedObject | undefined;
  /** Objects whose key starts with `prefix`, behind `after` where given, in key order. */
  range(prefix: string, after?: string): Generator<CachedObject>;
  /** How many objects of the prefix lie behind the key. */
  countAfter(prefix: string, key: string): number;
  put(entry: Entry, revision: number): void;
  /** What is about to be written, and the object that it was made of; the answer ends the loan. */
  lend(key: string, draft: Draft): () => void;
  remove(key: string, revision: number): void;
  /** The changes after `revision`, or undefined when some of them are no longer kept. */
  changesAfter(revision: number): readonly Change[] | undefined;
  watch(scope: WatchScope, listener: ChangeListener): () => void;
  watcherCount(): number;
  size(): number;
}

interface Draft {
  readonly value: Buffer;
  readonly object: KubeObject;
}

/** How many changes of a kind are kept for watches that start a little in the past; older ones come from the store. */
const keptChanges = 1_000;

export function createKindCache(kind: CachedKind, loadedAt: number): KindCache {
  const objects = new Map<string, CachedObject>();
  const keys = createSortedKeys();
  const watchers = createWatcherIndex();
  const drafts = new Map<string, Draft>();
  let changes: Change[] = [];
  /** Every change after this revision is in `changes`. */
  let completeAfter = loadedAt;

  function record(change: Change): void {
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
      // The very same bytes: another writer of the key may have been faster.
      const lent = draft?.value === entry.value ? { object: draft.object, before } : undefined;
      const after = new CachedObject(kind, entry, lent);
      objects.set(entry.key, after);
      if (!before) keys.insert(entry.key);
      record({ revision, key: entry.key, before, after });
      after.giveBack();
    },
    lend(key, draft) {
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
    changesAfter(revision) {
      if (revision < completeAfter) return undefined;
      const first = changes.findIndex((change) => change.revision > revision);
      return first === -1 ? [] : changes.slice(first);
    },
    watch: (scope, listener) => watchers.add(scope, listener),
    watcherCount: () => watchers.size(),
    size: () => objects.size,
  };
}
