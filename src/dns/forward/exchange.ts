import { createSocket } from "node:dgram";
import { connect, isIPv6 } from "node:net";
import { headerBytes } from "../wire/query.ts";

/** DNS server that queries are forwarded to. */
export interface Upstream {
  readonly host: string;
  readonly port: number;
}

/**
 * Sends a query to a server and returns its response: over UDP, and over TCP if that response is truncated. Each query
 * has a socket with a random port, which together with the ID makes forged responses unlikely.
 */
export async function exchange(upstream: Upstream, query: Buffer, signal: AbortSignal): Promise<Buffer> {
  const response = await exchangeUdp(upstream, query, signal);
  const isTruncated = ((response[2] ?? 0) & 2) !== 0;
  return isTruncated ? exchangeTcp(upstream, query, signal) : response;
}

function exchangeUdp({ host, port }: Upstream, query: Buffer, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(isIPv6(host) ? "udp6" : "udp4");
    let ended = false;
    const end = () => {
      if (ended) return;
      ended = true;
      signal.removeEventListener("abort", onAbort);
      socket.close();
    };
    const fail = (error: unknown) => {
      end();
      reject(error);
    };
    const onAbort = () => fail(signal.reason);
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("error", fail);
    socket.on("message", (message) => {
      // Others are late or forged; the expected one may still arrive.
      if (!isResponseTo(query, message)) return;
      end();
      resolve(message);
    });
    // For example without a route. The types of Node.js lack the argument.
    const onConnect = (error?: Error) => {
      if (error) fail(error);
      else if (!ended) socket.send(query, (failure) => failure && fail(failure));
    };
    socket.connect(port, host, onConnect);
  });
}

function exchangeTcp({ host, port }: Upstream, query: Buffer, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, signal });
    let received = Buffer.alloc(0);
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the server closed the connection without a response")));
    socket.on("data", (chunk: Buffer) => {
      // Bounded by the length prefix, which has 16 bits.
      received = Buffer.concat([received, chunk]);
      const length = received.length < 2 ? Number.POSITIVE_INFINITY : received.readUInt16BE(0);
      if (received.length < length + 2) return;
      const message = received.subarray(2, length + 2);
      if (isResponseTo(query, message)) resolve(message);
      else reject(new Error("the response does not match the query"));
      socket.destroy();
    });
    socket.on("connect", () => socket.write(Buffer.concat([lengthOf(query), query])));
  });
}

/** Length prefix of a message over TCP. */
export function lengthOf(message: Buffer): Buffer {
  const prefix = Buffer.alloc(2);
  prefix.writeUInt16BE(message.length);
  return prefix;
}

/** Whether a message is a response with the ID and the question of the query. */
function isResponseTo(query: Buffer, message: Buffer): boolean {
  if (message.length < headerBytes || ((message[2] ?? 0) & 0x80) === 0) return false;
  if (message.readUInt16BE(0) !== query.readUInt16BE(0)) return false;
  // Some servers omit the question when they reject a query.
  if (message.readUInt16BE(4) === 0) return ((message[3] ?? 0) & 0xf) !== 0;
  const end = questionEnd(query);
  return (
    message.toString("latin1", headerBytes, end).toLowerCase() ===
    query.toString("latin1", headerBytes, end).toLowerCase()
  );
}

/** End of the question of a query that this server has written. */
function questionEnd(query: Buffer): number {
  let offset = headerBytes;
  while (query[offset]) offset += (query[offset] ?? 0) + 1;
  return offset + 5;
}
