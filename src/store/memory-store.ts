import type { Engine } from "./engine.ts";
import { createLocalStore } from "./local-store.ts";
import { type Entry, eventKey, firstRevision, type Store, type StoreEvent } from "./store.ts";

/** A store that is gone with its process. */
export function createMemoryStore(): Store {
  return createLocalStore(createMemoryEngine());
}

function createMemoryEngine(): Engine {
  const entries = new Map<string, Entry>();
  const keys: string[] = [];
  let log: StoreEvent[] = [];
  let lastRevision = firstRevision;
  let compactedRevision = 0;

  function apply(event: StoreEvent): void {
    const key = eventKey(event);
    if (event.kind === "put") {
      if (!entries.has(key)) keys.splice(lowerBound(keys, key), 0, key);
      entries.set(key, event.entry);
    } else {
      keys.splice(lowerBound(keys, key), 1);
      entries.delete(key);
    }
    log.push(event);
    lastRevision = event.revision;
  }

  /** Where in the log the event of a revision is: one event a revision, none missing. */
  function logIndex(revision: number): number {
    const first = log[0];
    return first ? Math.max(0, revision - first.revision) : 0;
  }

  return {
    lastRevision: () => lastRevision,
    compactedRevision: () => compactedRevision,
    read: (fromRevision, limit) => log.slice(logIndex(fromRevision), logIndex(fromRevision) + limit),
    get: (key) => entries.get(key),
    *range(prefix, after) {
      const start = after === undefined || after < prefix ? prefix : `${after}\0`;
      for (let i = lowerBound(keys, start); i < keys.length; i++) {
        const entry = entries.get(keys[i] ?? "");
        if (!entry?.key.startsWith(prefix)) return;
        yield entry;
      }
    },
    async commit(write) {
      write({ get: (key) => entries.get(key), apply });
    },
    async dropEvents(revision) {
      log = log.slice(logIndex(revision + 1));
      compactedRevision = revision;
    },
    async close() {},
  };
}

/** The index of the first key that is not before `key`. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] ?? "") < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
