import type { Engine, Transaction } from "./engine.ts";
import type { LogBounds } from "./lmdb-check.ts";
import type { LmdbEnvironment } from "./lmdb-environment.ts";
import { corruptFile } from "./lmdb-errors.ts";
import { compactedKey } from "./lmdb-format.ts";
import { decodeEntry, decodeEvent, encodeEntry, encodeEvent } from "./lmdb-row.ts";
import type { RowWrite } from "./lmdb-tables.ts";
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
    const row = environment.get("present", key);
    return row && readEntry(key, row);
  }

  function readEntry(key: string, row: Buffer): Entry {
    const entry = decodeEntry(key, row);
    if (!entry) throw corruptFile(file, `the value of ${key}`);
    return entry;
  }

  async function commit(write: (transaction: Transaction) => void): Promise<void> {
    // All is decided and encoded before LMDB's transaction begins: that one, in a thread of its own, only puts.
    const seen = new Map<string, Buffer | undefined>();
    const rows: RowWrite[] = [];
    let revision = lastRevision;
    const rowOf = (key: string) => {
      if (!seen.has(key)) seen.set(key, environment.get("present", key));
      return seen.get(key);
    };
    write({
      get(key) {
        const row = rowOf(key);
        return row && readEntry(key, row);
      },
      apply(event) {
        const key = eventKey(event);
        const { log, present } = encodeEvent(event, rowOf(key));
        seen.set(key, present);
        rows.push({ table: "log", key: event.revision, row: log }, { table: "present", key, row: present });
        revision = event.revision;
      },
    });
    if (rows.length === 0) return;
    await environment.write(rows, () => {
      lastRevision = revision;
    });
  }

  async function drop(revision: number): Promise<void> {
    if (revision > compactedRevision) {
      const row = encodeEntry({ key: compactedKey, value: Buffer.alloc(0), revision });
      await environment.write([{ table: "meta", key: compactedKey, row }], () => {
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
      const rows = environment.range("present", { start, end: prefix + afterPrintable });
      for (const { key, value } of rows) yield readEntry(key, value);
    },
    read(fromRevision, limit) {
      const events: StoreEvent[] = [];
      for (const { key, value } of environment.range("log", { start: fromRevision, limit })) {
        const event = decodeEvent(key, value);
        if (!event) throw corruptFile(file, `the event of revision ${key}`);
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

/** Of the events from one revision up to another, not including it. */
function removals(from: number, to: number): RowWrite[] {
  return Array.from({ length: to - from }, (_, i) => ({ table: "log", key: from + i, row: undefined }));
}
