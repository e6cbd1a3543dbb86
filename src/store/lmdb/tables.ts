import { closeSync, constants, openSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";
import { type Database, open, type RootDatabase } from "lmdb";
import { type Entry, eventKey, type StoreEvent } from "../store.ts";

// Row formats of the data file, big-endian. A value is stored once, in the row of the event that wrote it.
//
//   mark   checksum 4 | revision 6 | note
//   event  checksum 4 | revision 6 | previous revision 6 | kind 1 | key length 2 | key | value
//
// The checksum of an event covers the rest of its row, including its revision; that of a mark also covers its key, so
// that no row can change or move to another key undetected.

const checksumBytes = 4;
const revisionBytes = 6;
const noteAt = checksumBytes + revisionBytes;
const at = { revision: 4, previous: 10, kind: 16, keyLength: 17, key: 19 } as const;
const kinds = { put: 0, delete: 1 } as const;

/** Revision stored under a key, with an optional note. */
export interface Mark {
  readonly key: string;
  readonly revision: number;
  readonly note: Buffer;
}

export const noNote = Buffer.alloc(0);

export function encodeMark({ key, revision, note }: Mark): Buffer {
  const row = Buffer.allocUnsafe(noteAt + note.length);
  row.writeUIntBE(revision, checksumBytes, revisionBytes);
  note.copy(row, noteAt);
  row.writeUInt32BE(markChecksum(key, row), 0);
  return row;
}

/** Returns undefined when the row is damaged. The note shares the memory of `row`. */
export function decodeMark(key: string, row: Buffer): Mark | undefined {
  if (row.length < noteAt || row.readUInt32BE(0) !== markChecksum(key, row)) return undefined;
  return { key, note: row.subarray(noteAt), revision: row.readUIntBE(checksumBytes, revisionBytes) };
}

/** Event without the previous value, which is in the row of the event that wrote it. */
export interface EventRow {
  readonly key: string;
  readonly revision: number;
  /** 0 when the key did not exist before. */
  readonly previousRevision: number;
  /** Entry written by the event; undefined for a deletion. */
  readonly entry: Entry | undefined;
}

export function encodeEvent(event: StoreEvent): Buffer {
  const key = eventKey(event);
  const valueAt = at.key + key.length;
  const row = Buffer.allocUnsafe(valueAt + (event.kind === "put" ? event.entry.value.length : 0));
  row.writeUIntBE(event.revision, at.revision, revisionBytes);
  row.writeUIntBE(event.previous?.revision ?? 0, at.previous, revisionBytes);
  row.writeUInt8(kinds[event.kind], at.kind);
  row.writeUInt16BE(key.length, at.keyLength);
  row.write(key, at.key, "latin1");
  if (event.kind === "put") event.entry.value.copy(row, valueAt);
  row.writeUInt32BE(eventChecksum(row), 0);
  return row;
}

/** Returns undefined when the row is damaged, or of another revision. The value shares the memory of `row`. */
export function decodeEvent(revision: number, row: Buffer): EventRow | undefined {
  if (row.length < at.key || row.readUInt32BE(0) !== eventChecksum(row)) return undefined;
  if (row.readUIntBE(at.revision, revisionBytes) !== revision) return undefined;
  const valueAt = at.key + row.readUInt16BE(at.keyLength);
  const key = row.toString("latin1", at.key, valueAt);
  const isPut = row.readUInt8(at.kind) === kinds.put;
  return {
    key,
    revision,
    previousRevision: row.readUIntBE(at.previous, revisionBytes),
    entry: isPut ? { key, value: row.subarray(valueAt), revision } : undefined,
  };
}

function markChecksum(key: string, row: Buffer): number {
  return crc32(row.subarray(checksumBytes), crc32(key));
}

function eventChecksum(row: Buffer): number {
  return crc32(row.subarray(checksumBytes));
}

/** Tables of the data file and the types of their keys. */
export interface TableKeys {
  /** Current keys, each with the revision that wrote its value. */
  present: string;
  /** Events by revision: all since the last compaction, and older ones whose value is still current. */
  log: number;
  /** Marks about the file itself. */
  meta: string;
}

export type TableName = keyof TableKeys;
export const tableNames = ["present", "log", "meta"] as const;

/** Mark in `meta` that identifies the file, written once. Its revision is the format version. */
export const formatMark: Mark = { key: "format", note: Buffer.from("kindling-store"), revision: 2 };

/** Mark in `meta`: oldest revision for reads and watches. */
export const compactedMark = (revision: number): Mark => ({ key: "compacted", note: noNote, revision });

/** Mark in `meta`: obsolete rows up to this revision are deleted. It follows `compacted` in small steps. */
export const droppedMark = (revision: number): Mark => ({ key: "dropped", note: noNote, revision });

interface KeyEncoder<K> {
  /** Returns the end offset of the written key. */
  writeKey(key: K, target: Buffer, start: number): number;
  readKey(source: Buffer, start: number, end: number): K;
}

export const textKeys: KeyEncoder<string> = {
  writeKey: (key, target, start) => start + target.write(key, start, "latin1"),
  readKey: (source, start, end) => source.toString("latin1", start, end),
};

export const revisionKeyBytes = 6;

/** Encodes revisions so that byte order is numeric order. */
export const revisionKeys: KeyEncoder<number> = {
  writeKey: (key, target, start) => target.writeUIntBE(key, start, revisionKeyBytes),
  readKey: (source, start) => source.readUIntBE(start, revisionKeyBytes),
};

/** Row to write under a key; an undefined row removes the key. */
export type RowWrite<T extends TableName = TableName> = {
  [K in T]: { readonly table: K; readonly key: TableKeys[K]; readonly row: Buffer | undefined };
}[T];

type Tables = { [T in TableName]: Database<Buffer, TableKeys[T]> };

interface OpenTables {
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
