import { closeSync, constants, openSync, writeSync } from "node:fs";
import { type Database, open, type Transaction } from "lmdb";
import { commitFailed, reopening } from "./lmdb-errors.ts";
import type { TableName } from "./lmdb-format.ts";
import { estimatePages, openRoom } from "./lmdb-room.ts";

/** More than the header and the 126 reader slots of LMDB take. */
const lockFileBytes = 12_288;

type Table = Database<Buffer, Buffer>;

/** A row to put under a key, or, without one, a key to remove. */
export interface RowWrite {
  readonly table: TableName;
  readonly key: Buffer;
  readonly row: Buffer | undefined;
}

export interface RangeOptions {
  start: Buffer;
  end?: Buffer;
  limit?: number;
}

/** A data file opened with LMDB: reads see what the last `write` to resolve has left. */
export interface LmdbEnvironment {
  get(table: TableName, key: Buffer): Buffer | undefined;
  range(table: TableName, options: RangeOptions): Iterable<{ key: Buffer; value: Buffer }>;
  /**
   * All of it in one transaction, on disk when it resolves; nothing of it when it rejects. One after the other.
   * `onVisible` runs in the moment from which on reads see it.
   */
  write(rows: readonly RowWrite[], onVisible?: () => void): Promise<void>;
  close(): Promise<void>;
}

export function lockFileOf(file: string): string {
  return `${file}-lock`;
}

export async function openLmdbEnvironment(file: string): Promise<LmdbEnvironment> {
  let opened = openTables(file);
  const room = await openRoom(file);
  // Readers stay on the snapshot of the last write that was answered. LMDB's own newest would show a write
  // before it is on disk, and before the engine has its revision.
  let snapshot: Transaction | undefined = opened.root.useReadTransaction();
  let lastWrite: Promise<void> = Promise.resolve();

  function refresh(): void {
    snapshot?.done();
    snapshot = undefined;
    snapshot = opened.root.useReadTransaction();
  }

  function readable(): Transaction {
    if (!snapshot) throw reopening(file);
    return snapshot;
  }

  async function commit(rows: readonly RowWrite[], onVisible?: () => void): Promise<void> {
    try {
      await room.ensure(estimatePages(rows));
      await opened.root.batch(() => {
        for (const { table, key, row } of rows) {
          if (row) void opened.tables[table].put(key, row);
          else void opened.tables[table].remove(key);
        }
      });
    } catch (error) {
      await recover();
      throw commitFailed(file, await causeOf(error));
    }
    refresh();
    onVisible?.();
  }

  /** After a failed write of its meta page LMDB refuses everything, and a next write would never be answered. */
  async function recover(): Promise<void> {
    try {
      refresh();
    } catch {
      await opened.root.close();
      opened = openTables(file);
      refresh();
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

function openTables(file: string) {
  reserveLockFile(file);
  const options = {
    path: file,
    noSubdir: true,
    permissionsMode: 0o600,
    maxDbs: 3,
    // Address space, not memory: growing it while readers are at work is possible, but better avoided.
    mapSize: 8 * 2 ** 30,
    // Off: a commit is data pages, sync, meta page, sync. On, it would be visible before it is durable.
    overlappingSync: false,
    // Off: local-store has already made groups; waiting for the end of the turn would only add to the latency.
    eventTurnBatching: false,
  };
  const root = open<Buffer, Buffer>(options);
  const table = (name: TableName): Table => root.openDB({ name, encoding: "binary", keyEncoding: "binary" });
  return { root, tables: { present: table("present"), log: table("log"), meta: table("meta") } };
}

/** LMDB maps this file and writes into the map, where a full disk ends the process: so take the room now. */
function reserveLockFile(file: string): void {
  const handle = openSync(lockFileOf(file), constants.O_RDWR | constants.O_CREAT, 0o600);
  try {
    writeSync(handle, Buffer.alloc(lockFileBytes));
  } finally {
    closeSync(handle);
  }
}

/** lmdb says that a commit failed, and why in a promise beside. */
async function causeOf(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !("commitError" in error)) return error;
  return Promise.resolve(error.commitError).catch((cause: unknown) => cause);
}
