import type { Engine, Transaction } from "./engine.ts";
import type { LogBounds } from "./lmdb-check.ts";
import type { LmdbEnvironment, RowWrite } from "./lmdb-environment.ts";
import { corruptFile } from "./lmdb-errors.ts";
import { compactedKey } from "./lmdb-format.ts";
import {
  decodeEntry,
  decodeEvent,
  decodeRevision,
  encodeEntry,
  encodeEvent,
  encodeRevision,
} from "./lmdb-row.ts";
import { type Entry, eventKey, type StoreEvent } from "./store.ts";
import { isStoreError } from "./store-error.ts";

/** How many events one transaction of a compaction drops: writers wait for no more than that. */
const dropAtOnce = 1_000;

/** Behind every key that begins with a prefix: keys are printable ASCII. */
const afterPrintable = "\x7f";

export function createLmdbEngine(file: string, environment: LmdbEnvironment, bounds: LogBounds): Engine {
  let { lastRevision, compactedRevision, oldestEvent } = bounds;
  let dropping: Promise<void> = Promise.resolve();
  let closing = false;

  function get(key: string): Entry | undefined {
    const row = environment.get("present", encodeKey(key));
    return row && readEntry(key, row);
  }

  function readEntry(key: string, row: Buffer): Entry {
    const entry = decodeEntry(key, row);
    if (!entry) throw corruptFile(file, `the value of ${key}`);
    return entry;
  }

  async function commit(write: (transaction: Transaction) => void): Promise<void> {
    const events: StoreEvent[] = [];
    const changed = new Map<string, Entry | undefined>();
    write({
      get: (key) => (changed.has(key) ? changed.get(key) : get(key)),
      apply(event) {
        events.push(event);
        changed.set(eventKey(event), event.kind === "put" ? event.entry : undefined);
      },
    });
    const last = events.at(-1);
    if (!last) return;
    const rows: RowWrite[] = [];
    for (const [key, entry] of changed) {
      rows.push({ table: "present", key: encodeKey(key), row: entry && encodeEntry(entry) });
    }
    for (const event of events) {
      rows.push({ table: "log", key: encodeRevision(event.revision), row: encodeEvent(event) });
    }
    await environment.write(rows, () => {
      lastRevision = last.revision;
    });
  }

  async function drop(revision: number): Promise<void> {
    const compacted = { key: compactedKey, value: Buffer.alloc(0), revision };
    if (revision > compactedRevision) {
      const row = { table: "meta", key: encodeKey(compactedKey), row: encodeEntry(compacted) } as const;
      await environment.write([row], () => {
        compactedRevision = revision;
      });
    }
    // From here on these events do not count any more; those that a crash leaves go with the next compaction.
    let atOnce = dropAtOnce;
    while (oldestEvent <= revision && !closing) {
      const end = Math.min(revision + 1, oldestEvent + atOnce);
      try {
        await environment.write(removals(oldestEvent, end));
        oldestEvent = end;
      } catch (error) {
        // On a full disk a small transaction still finds the pages it needs, and each one makes room for a bigger.
        if (!isStoreError(error, "noSpace") || atOnce === 1) throw error;
        atOnce = Math.ceil(atOnce / 10);
      }
    }
  }

  return {
    lastRevision: () => lastRevision,
    compactedRevision: () => compactedRevision,
    get,
    *range(prefix, after) {
      const start = after === undefined || after < prefix ? prefix : `${after}\0`;
      const rows = environment.range("present", {
        start: encodeKey(start),
        end: encodeKey(prefix + afterPrintable),
      });
      for (const { key, value } of rows) yield readEntry(decodeKey(key), value);
    },
    read(fromRevision, limit) {
      const events: StoreEvent[] = [];
      for (const { key, value } of environment.range("log", { start: encodeRevision(fromRevision), limit })) {
        const event = decodeEvent(key, value);
        if (!event) throw corruptFile(file, `the event of revision ${decodeRevision(key)}`);
        events.push(event);
      }
      return events;
    },
    commit,
    dropEvents(revision) {
      const mine = dropping.then(() => drop(revision));
      dropping = mine.catch(() => {});
      return mine;
    },
    async close() {
      closing = true;
      await dropping;
      await environment.close();
    },
  };
}

function encodeKey(key: string): Buffer {
  return Buffer.from(key, "latin1");
}

function decodeKey(key: Buffer): string {
  return key.toString("latin1");
}

/** The events from one revision up to another, not including it. */
function removals(from: number, to: number): RowWrite[] {
  const rows: RowWrite[] = [];
  for (let revision = from; revision < to; revision++) {
    rows.push({ table: "log", key: encodeRevision(revision), row: undefined });
  }
  return rows;
}
