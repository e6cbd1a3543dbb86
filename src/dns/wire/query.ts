import { type DecodedPacket, decode } from "dns-packet";

/** Query of a client with one question. */
export interface Query {
  readonly id: number;
  readonly recursionDesired: boolean;
  readonly checkingDisabled: boolean;
  /** Labels of the name in lower case. */
  readonly labels: readonly string[];
  /** `A`, `SRV`, `UNKNOWN_65`. */
  readonly type: string;
  /** `IN`, `CH`. */
  readonly class: string;
  /** Question section as received: responses repeat the name with its upper and lower case letters. */
  readonly question: Buffer;
  /** Undefined for a client without EDNS. */
  readonly edns: Edns | undefined;
}

interface Edns {
  /** Longest response that the client accepts over UDP. */
  readonly udpSize: number;
  readonly version: number;
  readonly dnssecOk: boolean;
}

export type ParsedQuery =
  | { readonly kind: "query"; readonly query: Query }
  /** Invalid or unsupported: the response is the header with a response code. */
  | { readonly kind: "reject"; readonly rcode: keyof typeof rcodes }
  /** Not a query. A response could cause another one, for example of a server whose address was forged. */
  | { readonly kind: "drop" };

export const headerBytes = 12;
/** Longest query that is accepted. It limits the work for a hostile query; names have at most 255 bytes. */
export const maxQueryBytes = 1_232;

export const rcodes = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  BADVERS: 16,
};

const opcodeMask = 0x78;

/** Parses a message from the network. Never throws. */
export function parseQuery(message: Buffer): ParsedQuery {
  if (message.length < headerBytes) return { kind: "drop" };
  const [high = 0, low = 0] = [message[2], message[3]];
  if (high & 0x80) return { kind: "drop" };
  if (high & opcodeMask) return { kind: "reject", rcode: "NOTIMP" };
  const counts = [4, 6, 8, 10].map((offset) => message.readUInt16BE(offset));
  const [questions, answers, authorities, additionals = 0] = counts;
  // Checked before decoding, which allocates as many records as the header announces.
  if (questions !== 1 || answers !== 0 || authorities !== 0 || additionals > 2)
    return { kind: "reject", rcode: "FORMERR" };
  const name = message.length <= maxQueryBytes ? readName(message) : undefined;
  const packet = name && tryDecode(message);
  const question = packet?.questions?.[0];
  if (!name || !packet || !question) return { kind: "reject", rcode: "FORMERR" };
  return {
    kind: "query",
    query: {
      id: message.readUInt16BE(0),
      recursionDesired: (high & 1) !== 0,
      checkingDisabled: (low & 0x10) !== 0,
      labels: name.labels,
      type: question.type,
      class: question.class ?? "IN",
      // Copied, because a slice would retain the whole buffer of the socket.
      question: Buffer.from(message.subarray(headerBytes, name.end + 4)),
      edns: ednsOf(packet),
    },
  };
}

/** Reads the name of the first question, which has no earlier name that a pointer could refer to. */
function readName(message: Buffer): { readonly labels: string[]; readonly end: number } | undefined {
  const labels: string[] = [];
  let offset = headerBytes;
  for (;;) {
    const length = message[offset];
    if (length === undefined || length > 63 || offset + length + 1 > message.length) return undefined;
    offset++;
    if (length === 0) return offset + 4 <= message.length ? { labels, end: offset } : undefined;
    const label = message.toString("latin1", offset, offset + length).toLowerCase();
    // A dot inside a label is not a separator.
    labels.push(label.includes(".") ? label.replaceAll(".", "\\.") : label);
    offset += length;
  }
}

function tryDecode(message: Buffer): DecodedPacket | undefined {
  try {
    return decode(message);
  } catch {
    return undefined;
  }
}

function ednsOf({ additionals = [] }: DecodedPacket): Edns | undefined {
  for (const record of additionals) {
    if (record.type !== "OPT") continue;
    const { udpPayloadSize: udpSize, ednsVersion: version, flag_do: dnssecOk } = record;
    return { udpSize, version, dnssecOk };
  }
  return undefined;
}

/** Response to a message that is rejected: its header without the sections, so that it is never longer. */
export function encodeRejection(message: Buffer, rcode: number): Buffer {
  const response = Buffer.alloc(headerBytes);
  message.copy(response, 0, 0, 2);
  response[2] = 0x80 | ((message[2] ?? 0) & (opcodeMask | 1));
  response[3] = rcode;
  return response;
}
