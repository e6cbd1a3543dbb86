import { closeSync, constants, openSync, writeSync } from "node:fs";
import { type Database, open, type Transaction } from "lmdb";
import { commitFailed, reopening } from "./lmdb-errors.ts";
import { type KeyEncoder, revisionKeys, type TableKeys, type TableName, textKeys } from "./lmdb-format.ts";
import { openRoom } from "./lmdb-room.ts";

/** More than the header and the 126 reader slots of LMDB take. */
const lockFileBytes = 12_288;

/** A row to put under a key, or, without one, a key to remove. */
export type RowWrite<T extends TableName = TableName> = {
  [K in T]: { readonly table: K; readonly key: TableKeys[K]; readonly row: Buffer | undefined };
}[T];

type Tables = { [T in TableName]: Database<Buffer, TableKeys[T]> };

interface RangeOptions<T extends TableName> {
  start: TableKeys[T];
  end?: TableKeys[T];
  limit?: number;
}

interface WriteOptions {
  /** How many new pages the transaction may need. */
  pages: number;
  /** Runs in the moment from which on reads see the rows. */
  onVisible?(): void;
}

/** A data file opened with LMDB: reads see what the last `write` to resolve has left. */
export interface LmdbEnvironment {
  get<T extends TableName>(table: T, key: TableKeys[T]): Buffer | undefined;
  range<T extends TableName>(
    table: T,
    options: RangeOptions<T>,
  ): Iterable<{ key: TableKeys[T]; value: Buffer }>;
  /** All of it in one transaction, on disk when it resolves; nothing of it when it rejects. One after the other. */
  write(rows: Iterable<RowWrite>, options: WriteOptions): Promise<void>;
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

  async function commit(rows: Iterable<RowWrite>, { pages, onVisible }: WriteOptions): Promise<void> {
    try {
      await room.ensure(pages);
      await opened.root.batch(() => {
        for (const row of rows) addToBatch(opened.tables, row);
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
    write(rows, options) {
      const mine = lastWrite.then(() => commit(rows, options));
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
  const root = open(options);
  const table = <T extends TableName>(name: T, keyEncoder: KeyEncoder<TableKeys[T]>) => {
    const tableOptions = { name, encoding: "binary" as const, keyEncoder };
    return root.openDB<Buffer, TableKeys[T]>(tableOptions);
  };
  const tables: Tables = {
    present: table("present", textKeys),
    log: table("log", revisionKeys),
    meta: table("meta", textKeys),
  };
  return { root, tables };
}

/** The promise of each row is the one of the batch. */
function addToBatch<T extends TableName>(tables: Tables, { table, key, row }: RowWrite<T>): void {
  if (row) void tables[table].put(key, row);
  else void tables[table].remove(key);
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
