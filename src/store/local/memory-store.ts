import { createSortedKeys } from "../../lib/sorted-keys.ts";
import { type Entry, eventKey, firstRevision, type Store, type StoreEvent } from "../store.ts";
import type { Engine } from "./engine.ts";
import { createLocalStore } from "./local-store.ts";

/** Creates a store in memory. */
export function createMemoryStore(): Store {
  return createLocalStore(createMemoryEngine());
}

function createMemoryEngine(): Engine {
  const entries = new Map<string, Entry>();
  const keys = createSortedKeys();
  let log: StoreEvent[] = [];
  let lastRevision = firstRevision;
  let compactedRevision = 0;

  function apply(event: StoreEvent): void {
    const key = eventKey(event);
    if (event.kind === "put") {
      keys.insert(key);
      entries.set(key, event.entry);
    } else {
      keys.remove(key);
      entries.delete(key);
    }
    log.push(event);
    lastRevision = event.revision;
  }

  /** Index of a revision in the log, which has one event per revision without gaps. */
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
      for (const key of keys.from(start)) {
        const entry = entries.get(key);
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
