import type { Engine, Transaction } from "./engine.ts";
import type { LogBounds } from "./lmdb-check.ts";
import type { LmdbEnvironment, RowWrite } from "./lmdb-environment.ts";
import { corruptFile } from "./lmdb-errors.ts";
import { compactedKey } from "./lmdb-format.ts";
import { pagesForEvents, pagesForRemovals } from "./lmdb-room.ts";
import { decodeEntry, decodeEvent, encodeEntry, encodeEvent } from "./lmdb-row.ts";
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
    // Decided here, against the last commit and what this one has applied; LMDB's transaction only puts.
    const rows = new Map<string, Buffer | undefined>();
    const applied = new Map<string, Entry | undefined>();
    const events: StoreEvent[] = [];
    write({
      get(key) {
        if (applied.has(key)) return applied.get(key);
        const row = environment.get("present", key);
        rows.set(key, row);
        return row && readEntry(key, row);
      },
      apply(event) {
        applied.set(eventKey(event), event.kind === "put" ? event.entry : undefined);
        events.push(event);
      },
    });
    const last = events.at(-1);
    if (!last) return;
    await environment.write(encodeEvents(events, rows), {
      pages: pagesForEvents(events),
      onVisible() {
        lastRevision = last.revision;
      },
    });
  }

  async function drop(revision: number): Promise<void> {
    if (revision > compactedRevision) {
      const row = encodeEntry({ key: compactedKey, value: Buffer.alloc(0), revision });
      await environment.write([{ table: "meta", key: compactedKey, row }], {
        pages: pagesForRemovals(1),
        onVisible() {
          compactedRevision = revision;
        },
      });
    }
    // From here on these events do not count any more; those that a crash leaves go with the next compaction.
    let atOnce = dropAtOnce;
    while (oldestEvent <= revision && !closing) {
      const end = Math.min(revision + 1, oldestEvent + atOnce);
      try {
        await environment.write(removeEvents(oldestEvent, end), {
          pages: pagesForRemovals(end - oldestEvent),
        });
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

/** Encodes while the thread of the transaction already puts what came before. `rows` are those of the keys until now. */
function* encodeEvents(
  events: readonly StoreEvent[],
  rows: Map<string, Buffer | undefined>,
): Generator<RowWrite> {
  for (const event of events) {
    const key = eventKey(event);
    const encoded = encodeEvent(event, rows.get(key));
    rows.set(key, encoded.present);
    yield { table: "log", key: event.revision, row: encoded.log };
    yield { table: "present", key, row: encoded.present };
  }
}

/** Those from one revision up to another, not including it. */
function* removeEvents(from: number, to: number): Generator<RowWrite> {
  for (let revision = from; revision < to; revision++) yield { table: "log", key: revision, row: undefined };
}
