import { crc32 } from "node:zlib";
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
