import { type ClientHttp2Session, connect, constants } from "node:http2";
import { setTimeout as delay } from "node:timers/promises";
import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import { status } from "@grpc/grpc-js";
import type { Probe } from "../../../api/meta/objects.ts";
import { createChildAbort } from "../../../lib/abort.ts";
import { formatGoDuration } from "../../../lib/go-duration.ts";
import { messageOf } from "../../../lib/message-of.ts";
import {
  describeStatus,
  failed,
  findAddress,
  joinHostPort,
  type ProbeOutcome,
  type ProbeTarget,
  probeUserAgent,
  type RunOptions,
} from "./probe-handler.ts";

const healthCheckPath = "/grpc.health.v1.Health/Check";
const servingStatuses = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];
/** Delay between connection attempts within one probe. */
const redialMs = 1_000;

/** Runs a gRPC probe: succeeds if the service is SERVING by the gRPC health protocol. */
export async function runGrpc(
  { port, service = "" }: NonNullable<Probe["grpc"]>,
  { target, timeoutMs, signal }: RunOptions & { readonly target: ProbeTarget },
): Promise<ProbeOutcome> {
  const address = findAddress({ port }, target);
  if (address.kind === "none") return address.outcome;
  const within = formatGoDuration(timeoutMs);
  const ending = createChildAbort(signal);
  const late = new Error("late");
  const timer = setTimeout(() => ending.abort(late), timeoutMs);
  let session: ClientHttp2Session | undefined;
  try {
    session = await dial(address, ending.signal);
    if (session) return await check(session, service, ending.signal);
    const subject = `service ${JSON.stringify(joinHostPort(address.host, port))}`;
    return failed(`timeout: failed to connect ${subject} within ${within}: context deadline exceeded`);
  } catch (error) {
    if (error === late) return failed(`timeout: health rpc did not complete within ${within}`);
    const details = messageOf(error);
    return failed(`error: health rpc probe failed: ${describeStatus(status.UNAVAILABLE, details)}`);
  } finally {
    clearTimeout(timer);
    ending.abort();
    session?.destroy();
  }
}

/** Connects. As upstream, failed connections are retried until the timeout, because the server may be starting. */
async function dial(
  address: { readonly host: string; readonly port: number },
  signal: AbortSignal,
): Promise<ClientHttp2Session | undefined> {
  while (!signal.aborted) {
    const session = await openSession(address, signal);
    if (session) return session;
    await delay(redialMs, undefined, { signal }).catch(() => {});
  }
  return undefined;
}

async function check(
  session: ClientHttp2Session,
  service: string,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const end = await callOnce(session, { path: healthCheckPath, message: encodeRequest(service), signal });
  if (end.kind === "message") {
    const value = decodeResponse(end.bytes);
    const name = servingStatuses[value] ?? String(value);
    if (name === "SERVING") return { kind: "success" };
    return failed(`service unhealthy (responded with ${JSON.stringify(name)})`);
  }
  if (end.code === status.UNIMPLEMENTED) {
    const what = "this server does not implement the grpc health protocol (grpc.health.v1.Health)";
    return failed(`error: ${what}: ${end.details}`);
  }
  return failed(`error: health rpc probe failed: ${describeStatus(end.code, end.details)}`);
}

// The request has a string and the response an enum, both in field 1.
function encodeRequest(service: string): Uint8Array {
  const message = new BinaryWriter();
  return (service ? message.uint32(10).string(service) : message).finish();
}

function decodeResponse(bytes: Uint8Array): number {
  const reader = new BinaryReader(bytes);
  let servingStatus = 0;
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 1 && wireType === 0) servingStatus = reader.int32();
    else reader.skip(wireType);
  }
  return servingStatus;
}

// Each probe makes one call over its own HTTP/2 connection. grpc-js is not used, because a channel that is closed before
// the server has responded leaks its socket.

type CallEnd =
  | { readonly kind: "message"; readonly bytes: Buffer }
  | { readonly kind: "status"; readonly code: status; readonly details: string };

const maxMessageBytes = 64 * 1_024;
const framePrefixBytes = 5;

/**
 * Opens a session and waits for the server's settings. Undefined if the connection fails. The signal closes the session and
 * its streams.
 */
function openSession(
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

/** Makes a unary call. Rejects if the connection fails, with the signal's reason if it has aborted. */
function callOnce(
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
      if (size > maxMessageBytes)
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

/** Maps HTTP error statuses, for example of proxies, to gRPC statuses. */
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
