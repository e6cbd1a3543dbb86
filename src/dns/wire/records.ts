import { headerBytes } from "./query.ts";

/** Place of a record in a message. */
export interface RecordPlace {
  readonly section: "answer" | "authority" | "additional";
  readonly type: number;
  readonly ttl: number;
  readonly ttlOffset: number;
  readonly dataOffset: number;
  readonly dataLength: number;
}

export const recordTypes = { SOA: 6, OPT: 41 };

/** Locates the records of a message with one question. Undefined if the message is malformed. */
export function locateRecords(message: Buffer): readonly RecordPlace[] | undefined {
  if (message.length < headerBytes || message.readUInt16BE(4) !== 1) return undefined;
  const places: RecordPlace[] = [];
  let offset = skipName(message, headerBytes);
  if (offset === undefined) return undefined;
  offset += 4;
  for (const [i, section] of (["answer", "authority", "additional"] as const).entries()) {
    for (let left = message.readUInt16BE(6 + 2 * i); left > 0; left--) {
      const end = skipName(message, offset);
      if (end === undefined || end + 10 > message.length) return undefined;
      const dataOffset = end + 10;
      const dataLength = message.readUInt16BE(end + 8);
      if (dataOffset + dataLength > message.length) return undefined;
      const [type, ttl] = [message.readUInt16BE(end), message.readUInt32BE(end + 4)];
      places.push({ section, type, ttl, ttlOffset: end + 4, dataOffset, dataLength });
      offset = dataOffset + dataLength;
    }
  }
  return offset <= message.length ? places : undefined;
}

/** Returns the offset after a name. Pointers are not followed. */
function skipName(message: Buffer, start: number): number | undefined {
  for (let offset = start; ; ) {
    const length = message[offset];
    if (length === undefined) return undefined;
    if (length >= 0xc0) return offset + 2;
    if (length > 63) return undefined;
    offset += length + 1;
    if (length === 0) return offset;
  }
}
