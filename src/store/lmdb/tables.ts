import { closeSync, constants, openSync, writeSync } from "node:fs";
import { type Database, open, type RootDatabase } from "lmdb";
import { type KeyEncoder, revisionKeys, type TableKeys, type TableName, textKeys } from "./format.ts";

/** A row to put under a key, or, without one, a key to remove. */
export type RowWrite<T extends TableName = TableName> = {
  [K in T]: { readonly table: K; readonly key: TableKeys[K]; readonly row: Buffer | undefined };
}[T];

type Tables = { [T in TableName]: Database<Buffer, TableKeys[T]> };

export interface OpenTables {
  root: RootDatabase;
  tables: Tables;
  /** One transaction, in a thread of LMDB's; on disk when it resolves. */
  write(rows: Iterable<RowWrite>): Promise<unknown>;
}

/** More than the header and the 126 reader slots of LMDB take. */
const lockFileBytes = 12_288;

export function lockFileOf(file: string): string {
  return `${file}-lock`;
}

export function openTables(file: string): OpenTables {
  reserveLockFile(file);
  const options = {
    path: file,
    noSubdir: true,
    permissionsMode: 0o600,
    maxDbs: 3,
    // Address space, not memory: it can grow while readers are at work, but better does not.
    mapSize: 8 * 2 ** 30,
    // Off: a commit is data pages, sync, meta page, sync. On, it would be visible before it is durable.
    overlappingSync: false,
    // Off: local-store makes the groups; to wait for the end of the turn would only add to the latency.
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
  return {
    root,
    tables,
    write: (rows) =>
      root.batch(() => {
        for (const row of rows) addToBatch(tables, row);
      }),
  };
}

/** The promise of each row is the one of the batch. */
function addToBatch<T extends TableName>(tables: Tables, { table, key, row }: RowWrite<T>): void {
  if (row) void tables[table].put(key, row);
  else void tables[table].remove(key);
}

/** LMDB maps this file and writes into the map, where a full disk would end the process: so take the room now. */
function reserveLockFile(file: string): void {
  const handle = openSync(lockFileOf(file), constants.O_RDWR | constants.O_CREAT, 0o600);
  try {
    writeSync(handle, Buffer.alloc(lockFileBytes));
  } finally {
    closeSync(handle);
  }
}
