import { type Answer, encode } from "dns-packet";
import { headerBytes, type Query, rcodes } from "./query.ts";

export interface Response {
  readonly rcode: keyof typeof rcodes;
  /** Whether this server is the authority for the name. */
  readonly authoritative: boolean;
  readonly answers: readonly Answer[];
  readonly authorities: readonly Answer[];
  readonly additionals: readonly Answer[];
  /** Whether records are missing although all of these fit. */
  readonly truncated?: boolean;
}

/** Largest UDP payload that is not fragmented on common networks (DNS flag day 2020). */
export const maxUdpBytes = 1_232;
const udpBytesWithoutEdns = 512;
export const maxTcpBytes = 65_535;
const optBytes = 11;

/** Length limit of responses over UDP. */
export function udpLimit({ edns }: Query): number {
  return edns ? Math.min(maxUdpBytes, Math.max(udpBytesWithoutEdns, edns.udpSize)) : udpBytesWithoutEdns;
}

/**
 * Encodes a response with at most `maxBytes`. Answers that do not fit are omitted and the response is marked as truncated,
 * so that the client retries over TCP. Additional records that do not fit are omitted without a mark.
 */
export function encodeResponse(query: Query, response: Response, maxBytes: number): Buffer {
  const names = createNameWriter(query);
  const limit = maxBytes - (query.edns ? optBytes : 0);
  const parts = [query.question];
  let length = headerBytes + query.question.length;
  let truncated = response.truncated ?? false;

  /** Returns the number of records that fit. */
  function write(records: readonly Answer[]): number {
    for (const [written, record] of records.entries()) {
      const owner = names.encode(record.name, length);
      const body = encodeBody(record);
      if (length + owner.length + body.length > limit) return written;
      parts.push(owner, body);
      length += owner.length + body.length;
    }
    return records.length;
  }

  const answers = write(response.answers);
  if (answers < response.answers.length) truncated = true;
  const authorities = truncated ? 0 : write(response.authorities);
  if (authorities < response.authorities.length) truncated = true;
  let additionals = truncated ? 0 : write(response.additionals);
  if (query.edns) {
    parts.push(encodeOpt(query.edns.dnssecOk, rcodes[response.rcode]));
    additionals++;
  }
  const header = Buffer.alloc(headerBytes);
  header.writeUInt16BE(query.id, 0);
  header[2] =
    0x80 | (response.authoritative ? 4 : 0) | (truncated ? 2 : 0) | (query.recursionDesired ? 1 : 0);
  header[3] = 0x80 | (query.checkingDisabled ? 0x10 : 0) | (rcodes[response.rcode] & 0xf);
  [1, answers, authorities, additionals].forEach((count, i) => {
    header.writeUInt16BE(count, 4 + 2 * i);
  });
  return Buffer.concat([header, ...parts]);
}

/** Type, class, TTL and data of a record. dns-packet does not compress names, so owners are written here. */
function encodeBody(record: Answer): Buffer {
  // The header and the root name, which has one byte, come before the body.
  return encode({ answers: [{ ...record, name: "." }] }).subarray(headerBytes + 1);
}

function encodeOpt(dnssecOk: boolean, rcode: number): Buffer {
  const opt = Buffer.alloc(optBytes);
  opt.writeUInt16BE(41, 1);
  opt.writeUInt16BE(maxUdpBytes, 3);
  opt[5] = rcode >> 4;
  opt.writeUInt16BE(dnssecOk ? 0x80_00 : 0, 7);
  return opt;
}

/** Writes owner names, replacing endings that the message already contains by pointers (RFC 1035, 4.1.4). */
function createNameWriter({ labels }: Query) {
  const offsets = new Map<string, number>();
  let at = headerBytes;
  for (const [i, label] of labels.entries()) {
    offsets.set(labels.slice(i).join("."), at);
    at += label.length + 1;
  }
  return {
    encode(name: string, position: number): Buffer {
      const parts: Buffer[] = [];
      const own = name.split(".");
      let next = position;
      for (const [i, label] of own.entries()) {
        const ending = own.slice(i).join(".");
        const known = offsets.get(ending);
        if (known !== undefined) {
          parts.push(Buffer.from([0xc0 | (known >> 8), known & 0xff]));
          return Buffer.concat(parts);
        }
        // A pointer has 14 bits.
        if (next < 0x40_00) offsets.set(ending, next);
        parts.push(Buffer.from([label.length]), Buffer.from(label, "latin1"));
        next += label.length + 1;
      }
      return Buffer.concat([...parts, Buffer.from([0])]);
    },
  };
}
