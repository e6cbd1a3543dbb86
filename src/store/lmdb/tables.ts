import { closeSync, constants, openSync, writeSync } from "node:fs";
import { type Database, open, type RootDatabase } from "lmdb";
import { type KeyEncoder, revisionKeys, type TableKeys, type TableName, textKeys } from "./format.ts";

/** Row to write under a key; an undefined row removes the key. */
export type RowWrite<T extends TableName = TableName> = {
  [K in T]: { readonly table: K; readonly key: TableKeys[K]; readonly row: Buffer | undefined };
}[T];

type Tables = { [T in TableName]: Database<Buffer, TableKeys[T]> };

export interface OpenTables {
  root: RootDatabase;
  tables: Tables;
  /** Writes in one transaction, in a thread of LMDB; durable when it resolves. */
  write(rows: Iterable<RowWrite>): Promise<unknown>;
}

/** Exceeds the size of LMDB's header and 126 reader slots. */
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
    // Address space, not memory. It can grow, but growing blocks while there are readers.
    mapSize: 8 * 2 ** 30,
    // Off: a commit writes data pages, syncs, writes the meta page and syncs. If on, it would be visible before it is durable.
    overlappingSync: false,
    // Off: local-store groups writes; waiting for the end of the event loop turn would only add latency.
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

/** The promises of single rows settle with the batch. */
function addToBatch<T extends TableName>(tables: Tables, { table, key, row }: RowWrite<T>): void {
  if (row) void tables[table].put(key, row);
  else void tables[table].remove(key);
}

/** LMDB writes to this file through a memory map, where a full disk would crash the process: allocate it beforehand. */
function reserveLockFile(file: string): void {
  const handle = openSync(lockFileOf(file), constants.O_RDWR | constants.O_CREAT, 0o600);
  try {
    writeSync(handle, Buffer.alloc(lockFileBytes));
  } finally {
    closeSync(handle);
  }
}
