import type { Transaction } from "lmdb";
import type { TableKeys, TableName } from "./format.ts";
import { commitFailed, unreadable } from "./lmdb-error.ts";
import { estimatePages, openRoom } from "./room.ts";
import { openTables, type RowWrite } from "./tables.ts";

interface RangeOptions<T extends TableName> {
  start: TableKeys[T];
  end?: TableKeys[T];
  limit?: number;
}

/** A data file opened with LMDB: reads see what the last `write` to resolve has left. */
export interface LmdbEnvironment {
  get<T extends TableName>(table: T, key: TableKeys[T]): Buffer | undefined;
  range<T extends TableName>(
    table: T,
    options: RangeOptions<T>,
  ): Iterable<{ key: TableKeys[T]; value: Buffer }>;
  /**
   * All rows in one transaction, on disk when it resolves, not there when it rejects. One after the other.
   * `onVisible` runs in the moment from which on reads see them.
   */
  write(rows: readonly RowWrite[], onVisible?: () => void): Promise<void>;
  close(): Promise<void>;
}

export async function openLmdbEnvironment(file: string): Promise<LmdbEnvironment> {
  let opened = openTables(file);
  const room = await openRoom(file);
  // Readers stay on the snapshot of the last write that was answered: LMDB's newest shows a write before it is on
  // disk, and before the engine knows its revision.
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
      await room.ensure(estimatePages(rows));
      await opened.write(rows);
    } catch (error) {
      await recover();
      throw commitFailed(file, await causeOf(error));
    }
    try {
      takeSnapshot();
    } catch {
      // The rows are written all the same. The next read tries again.
    }
    onVisible?.();
  }

  /** After a failed write of its meta page LMDB refuses every transaction, and lmdb never answers the next write. */
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
      const mine = lastWrite.then(() => commit(rows, onVisible));
      lastWrite = mine.catch(() => {});
      return mine;
    },
    async close() {
      await lastWrite;
      snapshot?.done();
      snapshot = undefined;
      await opened.root.close();
      await room.close();
    },
  };
}

/** lmdb says that a commit failed, and in a promise beside it why. */
async function causeOf(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !("commitError" in error)) return error;
  return Promise.resolve(error.commitError).catch((cause: unknown) => cause);
}
