import { type ClientHttp2Session, connect, constants } from "node:http2";
import { status } from "@grpc/grpc-js";
import { joinHostPort } from "./find-address.ts";
import { probeUserAgent } from "./probe-user-agent.ts";

// One connection, one call, straight over HTTP/2: a channel of grpc-js that is closed before a silent server has
// answered leaves its socket open for good, which a probe does every second.

export type CallEnd =
  | { readonly kind: "message"; readonly bytes: Buffer }
  | { readonly kind: "status"; readonly code: status; readonly details: string };

const mostMessageBytes = 64 * 1_024;
const framePrefixBytes = 5;

/**
 * A session on which the server has said its first words; undefined when it does not come to that. The signal ends it
 * with whatever is under way on it.
 */
export function openSession(
  { host, port }: { readonly host: string; readonly port: number },
  signal: AbortSignal,
): Promise<ClientHttp2Session | undefined> {
  return new Promise((resolve) => {
    const session = connect(`http://${joinHostPort(host, port)}`);
    const giveUp = () => {
      session.destroy();
      resolve(undefined);
    };
    session.once("remoteSettings", () => resolve(session));
    session.on("error", giveUp);
    session.once("close", giveUp);
    signal.addEventListener("abort", giveUp, { once: true });
  });
}

/** A call with one message each way. Rejects when the connection breaks, with the signal's reason if it has aborted. */
export function callOnce(
  session: ClientHttp2Session,
  { path, message, signal }: { path: string; message: Uint8Array; signal: AbortSignal },
): Promise<CallEnd> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      [constants.HTTP2_HEADER_METHOD]: "POST",
      [constants.HTTP2_HEADER_PATH]: path,
      [constants.HTTP2_HEADER_CONTENT_TYPE]: "application/grpc",
      [constants.HTTP2_HEADER_TE]: "trailers",
      [constants.HTTP2_HEADER_USER_AGENT]: probeUserAgent,
    });
    const received: Buffer[] = [];
    let size = 0;
    let end: CallEnd | undefined;
    stream.on("response", (headers) => {
      end = readStatus(headers) ?? httpProblem(Number(headers[constants.HTTP2_HEADER_STATUS]));
    });
    stream.on("trailers", (headers) => {
      end ??= readStatus(headers);
    });
    stream.on("data", (chunk: Buffer) => {
      received.push(chunk);
      size += chunk.length;
      if (size > mostMessageBytes)
        stream.destroy(new Error(`received message larger than max (${size} bytes)`));
    });
    stream.on("error", (error) => reject(signal.aborted ? signal.reason : error));
    stream.on("close", () => {
      if (signal.aborted) reject(signal.reason);
      else if (end?.kind === "status" && end.code !== status.OK) resolve(end);
      else resolve(unwrap(received, end));
    });
    stream.end(wrap(message));
  });
}

function wrap(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(framePrefixBytes);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

function unwrap(received: readonly Buffer[], end: CallEnd | undefined): CallEnd {
  if (!end) return failure(status.INTERNAL, "server closed the stream without sending trailers");
  const frame = Buffer.concat(received);
  const length = frame.length >= framePrefixBytes ? frame.readUInt32BE(1) : Number.POSITIVE_INFINITY;
  if (frame.length < framePrefixBytes + length) return failure(status.INTERNAL, "cardinality violation");
  if (frame[0] !== 0)
    return failure(status.INTERNAL, "received a compressed message, which was not asked for");
  return { kind: "message", bytes: frame.subarray(framePrefixBytes, framePrefixBytes + length) };
}

type Headers = Readonly<Record<string, string | string[] | number | undefined>>;

function readStatus(headers: Headers): CallEnd | undefined {
  const code = headers["grpc-status"];
  if (code === undefined) return undefined;
  const number = Number(code);
  return failure(
    status[number] ? number : status.UNKNOWN,
    decodeMessage(String(headers["grpc-message"] ?? "")),
  );
}

function decodeMessage(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** What proxies and other servers answer in the place of gRPC. */
function httpProblem(httpStatus: number): CallEnd | undefined {
  if (httpStatus === 200) return undefined;
  const codes: Readonly<Record<number, status>> = {
    400: status.INTERNAL,
    401: status.UNAUTHENTICATED,
    403: status.PERMISSION_DENIED,
    404: status.UNIMPLEMENTED,
    429: status.UNAVAILABLE,
    502: status.UNAVAILABLE,
    503: status.UNAVAILABLE,
    504: status.UNAVAILABLE,
  };
  const details = `unexpected HTTP status code received from server: ${httpStatus}`;
  return failure(codes[httpStatus] ?? status.UNKNOWN, details);
}

function failure(code: status, details: string): CallEnd {
  return { kind: "status", code, details };
}
