import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect } from "node:net";
import { type Answer, type DecodedPacket, decode, encode, type RecordType } from "dns-packet";

/** Response as tests compare it. */
export interface DnsResponse extends DecodedPacket {
  readonly rcode: string;
  /** `NAME TTL TYPE DATA` of each answer. */
  readonly lines: readonly string[];
  readonly bytes: number;
}

interface QuestionOptions {
  readonly port: number;
  readonly tcp?: boolean;
  /** Size of UDP responses in an OPT record. Default: no EDNS. */
  readonly udpSize?: number;
}

let lastId = 0;

/** Sends a question to a server on loopback and waits for its response. */
export async function askDns(question: string, options: QuestionOptions): Promise<DnsResponse> {
  const [name = "", type = "A"] = question.split(" ");
  const opt = options.udpSize === undefined ? [] : [makeOpt(options.udpSize)];
  const message = encode({
    type: "query",
    id: ++lastId & 0xffff,
    flags: 0x100,
    questions: [{ name, type: type as RecordType }],
    additionals: opt,
  });
  const response = await (options.tcp ? sendTcp([message], options.port) : sendUdp(message, options.port));
  const decoded = decode(response) as DecodedPacket & { rcode: string };
  if (decoded.id !== (lastId & 0xffff)) throw new Error("the response has another ID");
  return { ...decoded, lines: (decoded.answers ?? []).map(formatRecord), bytes: response.length };
}

function makeOpt(udpPayloadSize: number): Answer {
  const parts = { udpPayloadSize, extendedRcode: 0, ednsVersion: 0, flags: 0, flag_do: false, options: [] };
  return { name: ".", type: "OPT", ...parts };
}

function formatRecord(record: Answer): string {
  if (record.type === "OPT") return "OPT";
  const { name, ttl, type, data } = record;
  return `${name} ${ttl} ${type} ${typeof data === "string" ? data : JSON.stringify(data)}`;
}

/** Sends a datagram, again every half second as it may be lost, and returns the first response. */
async function sendUdp(message: Buffer, port: number): Promise<Buffer> {
  const socket = createSocket("udp4");
  let timer: NodeJS.Timeout | undefined;
  try {
    const received = once(socket, "message", { signal: AbortSignal.timeout(30_000) });
    socket.send(message, port, "127.0.0.1");
    timer = setInterval(() => socket.send(message, port, "127.0.0.1"), 500);
    const [response] = await received;
    return response;
  } finally {
    clearInterval(timer);
    socket.close();
  }
}

/** Sends messages on one connection and returns the first response. */
async function sendTcp(messages: readonly Buffer[], port: number): Promise<Buffer> {
  const socket = connect(port, "127.0.0.1");
  try {
    for (const message of messages) {
      const prefix = Buffer.alloc(2);
      prefix.writeUInt16BE(message.length);
      socket.write(Buffer.concat([prefix, message]));
    }
    let received = Buffer.alloc(0);
    for await (const chunk of socket) {
      received = Buffer.concat([received, chunk]);
      if (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0))
        return received.subarray(2, 2 + received.readUInt16BE(0));
    }
    throw new Error("the server closed the connection");
  } finally {
    socket.destroy();
  }
}
