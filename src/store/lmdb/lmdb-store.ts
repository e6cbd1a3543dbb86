import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Engine, Transaction } from "../local/engine.ts";
import { createLocalStore } from "../local/local-store.ts";
import { type Entry, eventKey, isStoreError, type Store, type StoreEvent } from "../store.ts";
import { claimDirectory, isClaimFile } from "./claim-directory.ts";
import { type LmdbEnvironment, openLmdbEnvironment } from "./environment.ts";
import { corruptFile, openFailed, unrecognizedFile } from "./lmdb-error.ts";
import {
  compactedMark,
  decodeEvent,
  decodeMark,
  droppedMark,
  type EventRow,
  encodeEvent,
  encodeMark,
  formatMark,
  lockFileOf,
  type Mark,
  noNote,
  type RowWrite,
} from "./tables.ts";
import { checkLmdbFile, type LogBounds } from "./verify/check-file.ts";

export interface LmdbStoreOptions {
  /** Directory of the store, created if it is missing. Must not contain other files. */
  directory: string;
}

/** Opens a store in a local directory, for one process at a time. Confirmed writes survive a crash. */
export async function openLmdbStore(options: LmdbStoreOptions): Promise<Store> {
  const directory = resolve(options.directory);
  const file = dataFileIn(directory);
  try {
    ensureDirectory(directory);
    // Checked before the claim is created, so that a directory of another program is not modified.
    decideDirectory(directory, readdirSync(directory));
    const claim = await claimDirectory(directory);
    try {
      if (decideDirectory(directory, readdirSync(directory)) === "create") await createDataFile(directory);
      const bounds = checkLmdbFile(file);
      const engine = createLmdbEngine(file, await openLmdbEnvironment(file), bounds);
      return createLocalStore({
        ...engine,
        async close() {
          await engine.close();
          await claim.release();
        },
      });
    } catch (error) {
      await claim.release();
      throw error;
    }
  } catch (error) {
    throw openFailed(file, error);
  }
}

const dataName = "store.mdb";
/** Name of a new store until it is complete, so that a file with the final name is always complete. */
const unfinishedName = "unfinished.mdb";
/** Files that may exist in a directory without a store. The mount point of a disk contains the last one. */
const ignored = new Set([unfinishedName, lockFileOf(unfinishedName), "lost+found"]);

export function dataFileIn(directory: string): string {
  return join(directory, dataName);
}

/** Decides what to do with a directory that contains these names. Throws when a new store must not be created in it. */
export function decideDirectory(directory: string, names: readonly string[]): "create" | "open" {
  if (names.includes(dataName)) return "open";
  if (names.includes(lockFileOf(dataName))) {
    throw corruptFile(dataFileIn(directory), "it is missing, but its lock file exists");
  }
  const otherFiles = names.filter((name) => !ignored.has(name) && !isClaimFile(name));
  if (otherFiles.length === 0) return "create";
  const some = [...otherFiles.sort().slice(0, 3), ...(otherFiles.length > 3 ? ["…"] : [])].join(", ");
  throw unrecognizedFile(directory, `contains other files (${some}) and no Kindling store`);
}

/** Creates the directory and syncs its parents, so that it survives a power failure. */
export function ensureDirectory(directory: string): void {
  const firstMade = mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (firstMade === undefined) return;
  for (let made = directory; made.length >= firstMade.length; made = dirname(made))
    syncDirectory(dirname(made));
}

export async function createDataFile(directory: string): Promise<void> {
  const unfinished = join(directory, unfinishedName);
  const remove = () => {
    rmSync(unfinished, { force: true });
    rmSync(lockFileOf(unfinished), { force: true });
  };
  remove();
  const environment = await openLmdbEnvironment(unfinished);
  try {
    const row = encodeMark(formatMark);
    await environment.write([{ table: "meta", key: formatMark.key, row }]);
  } finally {
    await environment.close();
  }
  renameSync(unfinished, dataFileIn(directory));
  remove();
  syncDirectory(directory);
}

function syncDirectory(directory: string): void {
  const handle = openSync(directory, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Number of events per compaction transaction, to limit how long writers wait. */
const dropBatchSize = 500;

/** Sorts after every key with a given prefix: keys are printable ASCII. */
const afterPrintable = "\x7f";

export function createLmdbEngine(file: string, environment: LmdbEnvironment, bounds: LogBounds): Engine {
  let { lastRevision, compactedRevision, droppedRevision } = bounds;
  let dropping: Promise<void> = Promise.resolve();
  let closing = false;

  function get(key: string): Entry | undefined {
    const row = environment.get("present", key);
    return row && presentEntry(key, row);
  }

  function presentEntry(key: string, row: Buffer): Entry {
    const mark = decodeMark(key, row);
    if (!mark) throw corruptFile(file, `the revision of ${key}`);
    return entryAt(key, mark.revision);
  }

  /** Entry written by this revision. */
  function entryAt(key: string, revision: number): Entry {
    const { entry } = eventRow(revision, environment.get("log", revision));
    if (entry?.key !== key) throw corruptFile(file, `the value of ${key}, written by revision ${revision}`);
    return entry;
  }

  function eventRow(revision: number, row: Buffer | undefined): EventRow {
    const event = row && decodeEvent(revision, row);
    if (!event) throw corruptFile(file, `the event of revision ${revision}`);
    return event;
  }

  function toEvent({ key, revision, previousRevision, entry }: EventRow): StoreEvent {
    const previous = previousRevision === 0 ? undefined : entryAt(key, previousRevision);
    if (entry) return { kind: "put", entry, revision, previous };
    if (!previous) throw corruptFile(file, `the deletion of revision ${revision}`);
    return { kind: "delete", key, revision, previous };
  }

  async function commit(write: (transaction: Transaction) => void): Promise<void> {
    // Everything is decided and encoded before the LMDB transaction, which runs in another thread.
    const seen = new Map<string, Entry | undefined>();
    const rows: RowWrite[] = [];
    let revision = lastRevision;
    write({
      get: (key) => (seen.has(key) ? seen.get(key) : get(key)),
      apply(event) {
        const key = eventKey(event);
        const entry = event.kind === "put" ? event.entry : undefined;
        revision = event.revision;
        seen.set(key, entry);
        rows.push(
          { table: "log", key: revision, row: encodeEvent(event) },
          { table: "present", key, row: entry && encodeMark({ key, revision, note: noNote }) },
        );
      },
    });
    if (rows.length === 0) return;
    await environment.write(rows, () => {
      lastRevision = revision;
    });
  }

  async function drop(revision: number): Promise<void> {
    if (revision > compactedRevision) {
      await environment.write([metaRow(compactedMark(revision))], () => {
        compactedRevision = revision;
      });
    }
    // History before this revision is no longer read. After a crash, the next compaction deletes the rest of it.
    let batchSize = dropBatchSize;
    while (droppedRevision < revision && !closing) {
      const end = Math.min(revision, droppedRevision + batchSize);
      try {
        await environment.write([...removals(droppedRevision + 1, end), metaRow(droppedMark(end))]);
        droppedRevision = end;
      } catch (error) {
        // On a full disk a small transaction still finds the pages that it needs, and frees pages for larger ones.
        if (!isStoreError(error, "noSpace") || batchSize === 1) throw error;
        batchSize = Math.ceil(batchSize / 10);
      }
    }
  }

  /** Rows made obsolete by the events of a range of revisions, inclusive: each predecessor, and deletions. */
  function* removals(from: number, to: number): Generator<RowWrite> {
    for (const { key: revision, value } of environment.range("log", { start: from, end: to + 1 })) {
      const { previousRevision, entry } = eventRow(revision, value);
      if (previousRevision > 0) yield { table: "log", key: previousRevision, row: undefined };
      if (!entry) yield { table: "log", key: revision, row: undefined };
    }
  }

  return {
    lastRevision: () => lastRevision,
    compactedRevision: () => compactedRevision,
    get,
    *range(prefix, after) {
      const start = after === undefined || after < prefix ? prefix : `${after}\0`;
      const rows = environment.range("present", { start, end: prefix + afterPrintable });
      for (const { key, value } of rows) yield presentEntry(key, value);
    },
    read(fromRevision, limit) {
      const events: StoreEvent[] = [];
      for (const { key: revision, value } of environment.range("log", { start: fromRevision, limit }))
        events.push(toEvent(eventRow(revision, value)));
      return events;
    },
    commit,
    dropEvents(revision) {
      const result = dropping.then(() => drop(revision));
      dropping = result.catch(() => {});
      return result;
    },
    async close() {
      closing = true;
      await dropping;
      await environment.close();
    },
  };
}

function metaRow(mark: Mark): RowWrite {
  return { table: "meta", key: mark.key, row: encodeMark(mark) };
}
