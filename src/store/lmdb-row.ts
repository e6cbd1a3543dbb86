import { crc32 } from "node:zlib";
import { type Entry, eventKey, type StoreEvent } from "./store.ts";

// What stands in the data file. Every row begins with a checksum over its key and the rest of the row, so that a
// value can neither change nor move to another key unnoticed. Numbers are big-endian; revisions take 6 bytes.
//
//   entry  key -> checksum 4 | revision 6 | value
//   event  revision -> checksum 4 | kind 1 | previous revision 6 | key length 2 | value length 4
//                      | key | value | previous value

const checksumBytes = 4;
const revisionBytes = 6;
const entryHeaderBytes = checksumBytes + revisionBytes;
/** Where the parts of an event's row begin. */
const at = { kind: 4, previousRevision: 5, keyLength: 11, valueLength: 13, key: 17 } as const;
const kindPut = 1;
const kindDelete = 2;
/** In place of the previous revision: there was no entry before. */
const noRevision = 0;

export function encodeEntry({ key, value, revision }: Entry): Buffer {
  const row = Buffer.allocUnsafe(entryHeaderBytes + value.length);
  row.writeUIntBE(revision, checksumBytes, revisionBytes);
  value.copy(row, entryHeaderBytes);
  return seal(row, key);
}

/** Undefined when the row is damaged. The entry's value is a part of `row`. */
export function decodeEntry(key: string, row: Buffer): Entry | undefined {
  if (row.length < entryHeaderBytes || !isSealed(row, key)) return undefined;
  return {
    key,
    value: row.subarray(entryHeaderBytes),
    revision: row.readUIntBE(checksumBytes, revisionBytes),
  };
}

/** The key of an event's row: byte order is revision order. */
export function encodeRevision(revision: number): Buffer {
  const key = Buffer.allocUnsafe(revisionBytes);
  key.writeUIntBE(revision, 0, revisionBytes);
  return key;
}

export function decodeRevision(key: Buffer): number {
  return key.readUIntBE(0, revisionBytes);
}

export function encodeEvent(event: StoreEvent): Buffer {
  const { previous } = event;
  const key = eventKey(event);
  const valueStart = at.key + key.length;
  const valueEnd = valueStart + (event.kind === "put" ? event.entry.value.length : 0);
  const row = Buffer.allocUnsafe(valueEnd + (previous ? previous.value.length : 0));
  row.writeUInt8(event.kind === "put" ? kindPut : kindDelete, at.kind);
  row.writeUIntBE(previous?.revision ?? noRevision, at.previousRevision, revisionBytes);
  row.writeUInt16BE(key.length, at.keyLength);
  row.writeUInt32BE(valueEnd - valueStart, at.valueLength);
  row.write(key, at.key, "latin1");
  if (event.kind === "put") event.entry.value.copy(row, valueStart);
  previous?.value.copy(row, valueEnd);
  return seal(row, encodeRevision(event.revision));
}

/** Undefined when the row is damaged. The event's values are parts of `row`. */
export function decodeEvent(revisionKey: Buffer, row: Buffer): StoreEvent | undefined {
  if (row.length < at.key || !isSealed(row, revisionKey)) return undefined;
  const kind = row.readUInt8(at.kind);
  const previousRevision = row.readUIntBE(at.previousRevision, revisionBytes);
  const valueStart = at.key + row.readUInt16BE(at.keyLength);
  const valueEnd = valueStart + row.readUInt32BE(at.valueLength);
  const revision = decodeRevision(revisionKey);
  const key = row.toString("latin1", at.key, valueStart);
  const value = row.subarray(valueStart, valueEnd);
  const previous =
    previousRevision === noRevision
      ? undefined
      : { key, value: row.subarray(valueEnd), revision: previousRevision };
  if (kind === kindPut) return { kind: "put", entry: { key, value, revision }, revision, previous };
  return previous && { kind: "delete", key, revision, previous };
}

function seal(row: Buffer, key: string | Buffer): Buffer {
  row.writeUInt32BE(checksum(row, key));
  return row;
}

function isSealed(row: Buffer, key: string | Buffer): boolean {
  return row.readUInt32BE() === checksum(row, key);
}

function checksum(row: Buffer, key: string | Buffer): number {
  return crc32(row.subarray(checksumBytes), crc32(key));
}
