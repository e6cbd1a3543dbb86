import { crc32 } from "node:zlib";
import { type Entry, eventKey, type StoreEvent } from "./store.ts";

// What stands in the data file, big-endian. The checksum of an entry is over its key and the rest of its row, so that
// a value can neither change nor move to another key unnoticed. The checksum of an event is over its header and key;
// the entries in it have their own.
//
//   entry  checksum 4 | revision 6 | value
//   event  checksum 4 | revision 6 | key length 2 | entry length 4 | previous length 4 | key | entry | previous entry

const checksumBytes = 4;
const revisionBytes = 6;
const valueAt = checksumBytes + revisionBytes;
const at = { revision: 4, keyLength: 10, entryLength: 12, previousLength: 16, key: 20 } as const;

export function encodeEntry(entry: Entry): Buffer {
  return writeEntry(Buffer.allocUnsafe(valueAt + entry.value.length), entry);
}

function writeEntry(row: Buffer, { key, value, revision }: Entry): Buffer {
  row.writeUIntBE(revision, checksumBytes, revisionBytes);
  value.copy(row, valueAt);
  row.writeUInt32BE(entryChecksum(key, row), 0);
  return row;
}

/** Undefined when the row is damaged. The entry's value is a part of `row`. */
export function decodeEntry(key: string, row: Buffer): Entry | undefined {
  if (row.length < valueAt || row.readUInt32BE(0) !== entryChecksum(key, row)) return undefined;
  return { key, value: row.subarray(valueAt), revision: row.readUIntBE(checksumBytes, revisionBytes) };
}

export interface EventRows {
  log: Buffer;
  /** The row of the entry that the event leaves; it is a part of `log`. */
  present: Buffer | undefined;
}

/** `previousRow` is the row of the entry that was there before. */
export function encodeEvent(event: StoreEvent, previousRow: Buffer | undefined): EventRows {
  const key = eventKey(event);
  const entryAt = at.key + key.length;
  const entryLength = event.kind === "put" ? valueAt + event.entry.value.length : 0;
  const previousAt = entryAt + entryLength;
  const log = Buffer.allocUnsafe(previousAt + (previousRow?.length ?? 0));
  log.writeUIntBE(event.revision, at.revision, revisionBytes);
  log.writeUInt16BE(key.length, at.keyLength);
  log.writeUInt32BE(entryLength, at.entryLength);
  log.writeUInt32BE(previousRow?.length ?? 0, at.previousLength);
  log.write(key, at.key, "latin1");
  log.writeUInt32BE(eventChecksum(log, entryAt), 0);
  previousRow?.copy(log, previousAt);
  const present =
    event.kind === "put" ? writeEntry(log.subarray(entryAt, previousAt), event.entry) : undefined;
  return { log, present };
}

/** Undefined when the row is damaged, or not of this revision. The event's values are parts of `row`. */
export function decodeEvent(revision: number, row: Buffer): StoreEvent | undefined {
  if (row.length < at.key || row.readUIntBE(at.revision, revisionBytes) !== revision) return undefined;
  const entryAt = at.key + row.readUInt16BE(at.keyLength);
  const previousAt = entryAt + row.readUInt32BE(at.entryLength);
  const end = previousAt + row.readUInt32BE(at.previousLength);
  if (row.length !== end || row.readUInt32BE(0) !== eventChecksum(row, entryAt)) return undefined;

  const key = row.toString("latin1", at.key, entryAt);
  const previous = previousAt < end ? decodeEntry(key, row.subarray(previousAt)) : undefined;
  if (!previous && previousAt < end) return undefined;
  if (entryAt === previousAt) return previous && { kind: "delete", key, revision, previous };
  const entry = decodeEntry(key, row.subarray(entryAt, previousAt));
  return entry && { kind: "put", entry, revision, previous };
}

function entryChecksum(key: string, row: Buffer): number {
  return crc32(row.subarray(checksumBytes), crc32(key));
}

function eventChecksum(row: Buffer, keyEnd: number): number {
  return crc32(row.subarray(checksumBytes, keyEnd));
}
