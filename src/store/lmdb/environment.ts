import { open } from "node:fs/promises";
import type { Transaction } from "lmdb";
import { commitFailed, unreadable } from "./lmdb-error.ts";
import { openTables, type RowWrite, type TableKeys, type TableName } from "./tables.ts";
import { countFreePages, readMetaPages } from "./verify/walk-tree.ts";

interface RangeOptions<T extends TableName> {
  start: TableKeys[T];
  end?: TableKeys[T];
  limit?: number;
}

/** Data file opened with LMDB. Reads see the state of the last resolved `write`. */
export interface LmdbEnvironment {
  get<T extends TableName>(table: T, key: TableKeys[T]): Buffer | undefined;
  range<T extends TableName>(
    table: T,
    options: RangeOptions<T>,
  ): Iterable<{ key: TableKeys[T]; value: Buffer }>;
  /**
   * Writes all rows in one transaction: durable when it resolves, not applied when it rejects. Writes are serialized.
   * `onVisible` is called at the moment when reads see the rows.
   */
  write(rows: readonly RowWrite[], onVisible?: () => void): Promise<void>;
  close(): Promise<void>;
}

export async function openLmdbEnvironment(file: string): Promise<LmdbEnvironment> {
  let opened = openTables(file);
  const preallocation = await openPreallocation(file);
  // Reads use the snapshot of the last confirmed write: LMDB's newest state shows a write before it is durable, and
  // before the engine knows its revision.
  let snapshot: Transaction | undefined = opened.root.useReadTransaction();
  let lastWrite: Promise<void> = Promise.resolve();

  function takeSnapshot(): Transaction {
    snapshot?.done();
    snapshot = undefined;
    snapshot = opened.root.useReadTransaction();
    return snapshot;
  }

  function readable(): Transaction {
    try {
      return snapshot ?? takeSnapshot();
    } catch (cause) {
      throw unreadable(file, cause);
    }
  }

  async function commit(rows: readonly RowWrite[], onVisible?: () => void): Promise<void> {
    try {
      await preallocation.ensure(estimatePages(rows));
      await opened.write(rows);
    } catch (error) {
      await recover();
      throw commitFailed(file, await causeOf(error));
    }
    try {
      takeSnapshot();
    } catch {
      // The rows are durable nevertheless. The next read takes a new snapshot.
    }
    onVisible?.();
  }

  /** After a failed write of its meta page LMDB rejects every transaction, and the next write never settles. */
  async function recover(): Promise<void> {
    try {
      takeSnapshot();
    } catch {
      await opened.root.close();
      opened = openTables(file);
      takeSnapshot();
    }
  }

  return {
    get: (table, key) => opened.tables[table].get(key, { transaction: readable() }),
    range: (table, options) => opened.tables[table].getRange({ ...options, transaction: readable() }),
    write(rows, onVisible) {
      const result = lastWrite.then(() => commit(rows, onVisible));
      lastWrite = result.catch(() => {});
      return result;
    },
    async close() {
      await lastWrite;
      snapshot?.done();
      snapshot = undefined;
      await opened.root.close();
      await preallocation.close();
    },
  };
}

/** The lmdb package reports the cause of a failed commit in a separate promise. */
async function causeOf(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !("commitError" in error)) return error;
  return Promise.resolve(error.commitError).catch((cause: unknown) => cause);
}

/**
 * Extends the data file with zeros before LMDB needs the pages, so that a full disk is reported here as an ordinary
 * error. When LMDB itself cannot write a page, the lmdb package writes past the end of a buffer and may crash the
 * process. Commits into preallocated blocks are also faster, because they need no journal entry.
 */
export interface Preallocation {
  /** Resolves when a transaction can allocate this many new pages. */
  ensure(pages: number): Promise<void>;
  close(): Promise<void>;
}

const step = Buffer.alloc(2 ** 20);

export async function openPreallocation(file: string): Promise<Preallocation> {
  const handle = await open(file, "r+");
  let { size } = await handle.stat();
  return {
    async ensure(pages) {
      const { lastPage, pageSize } = readMetaPages(file, handle.fd).newest;
      const needed = (lastPage + 1 + pages) * pageSize;
      try {
        while (size < needed) {
          const { bytesWritten } = await handle.write(step, 0, step.length, size);
          size += bytesWritten;
        }
      } catch (error) {
        // Compaction may have left enough free pages in the file. Some of them cannot be used: they are not contiguous, or
        // still being read.
        if (countFreePages(file) < 2 * pages) throw error;
      }
    },
    close: () => handle.close(),
  };
}

const pageBytes = 4_096;

/** Upper bound of the pages that a transaction allocates when it finds no free ones. */
export function estimatePages(rows: readonly RowWrite[]): number {
  let pages = 0;
  // Pages of the free list. Fewer for a compaction, so that it can free pages when other writes fail.
  let freeListPages = 64;
  for (const { table, row } of rows) {
    pages += modifiedPages(table, row);
    if (!row || table === "meta") continue;
    pages += Math.ceil(row.length / pageBytes);
    freeListPages = 512;
  }
  return pages + freeListPages;
}

/** Pages modified per row, without the overflow pages of large rows. */
function modifiedPages(table: TableName, row: Buffer | undefined): number {
  switch (table) {
    case "present":
      // A leaf, its split sibling, and the branches above.
      return 5;
    case "log":
      // New events are adjacent. Dropped ones are not: a leaf, its merge sibling, and a branch above.
      return row ? 1 : 3;
    case "meta":
      return 1;
  }
}
