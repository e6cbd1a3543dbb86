import { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { StatusError } from "../../../api/meta/status-error.ts";
import type { Reader, UnreadMemory } from "../../limits/unread-memory.ts";
import {
  type BytesResponse,
  byteLengthOf,
  inlineBytes,
  isPiecewise,
  type PiecewiseBody,
  wholeBody,
} from "../../request/api-request.ts";

type Head = Pick<BytesResponse, "status" | "headers">;

interface Sending {
  readonly method: string;
  readonly reader: Reader;
  readonly memory: UnreadMemory;
}

/** Sends a response. Returns a promise for a long body, which resolves when it was sent or the client disconnected. */
export function sendResponse(
  response: ServerResponse,
  result: BytesResponse,
  { method, reader, memory }: Sending,
): void | Promise<void> {
  const { body, bodyBytes = byteLengthOf(body) } = result;
  if (response.destroyed) return;
  sendWarnings(response, result.warnings);
  sendHead(response, result, bodyBytes);
  if (method === "HEAD") {
    response.end();
    return;
  }
  if (bodyBytes > inlineBytes) {
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    return sendLongBody(response, bytes, { reader, memory });
  }
  response.end(wholeBody(body));
  memory.wrote(bodyBytes);
}

function sendHead(response: ServerResponse, { status, headers }: Head, bodyBytes: number): void {
  response.writeHead(status, {
    "cache-control": "no-cache, private",
    ...headers,
    "content-length": bodyBytes,
  });
}

/** `Warning` headers, which kubectl shows to its user; one line each, quoted, without control characters. */
function sendWarnings(response: ServerResponse, warnings: readonly string[] = []): void {
  if (warnings.length === 0) return;
  const quoted = warnings.map((text) => `299 - ${JSON.stringify(text.replace(/[^\x20-\x7e]/g, "?"))}`);
  response.setHeader("warning", quoted);
}

export function sendError(response: ServerResponse, error: StatusError, request: IncomingMessage): void {
  // The response of a watch has begun: its error is an event.
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const retryAfter = error.details?.retryAfterSeconds;
  if (retryAfter !== undefined) response.setHeader("retry-after", String(retryAfter));
  // The unread rest of the body would have to be received before the connection can be used again.
  if (hasBody(request.headers) && !request.complete) response.setHeader("connection", "close");
  sendWarnings(response, error.warnings);
  const body = JSON.stringify(error.toStatus());
  const head = { status: error.code, headers: { "content-type": "application/json" } };
  sendHead(response, head, Buffer.byteLength(body));
  response.end(body);
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

export function rejectUpgrade(socket: Duplex, error: StatusError): void {
  const body = JSON.stringify(error.toStatus());
  socket.end(
    `HTTP/1.1 ${error.code} ${STATUS_CODES[error.code] ?? ""}\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}

/**
 * Writes a long body in slices, each after the socket has sent the one before, so that an unread body occupies one slice in
 * the socket. Resolves when the response or its connection has ended.
 */
function sendLongBody(
  response: ServerResponse,
  body: Buffer | PiecewiseBody,
  { reader, memory }: Omit<Sending, "method">,
): Promise<void> {
  const held = isPiecewise(body) ? body.heldBytes : body.byteLength;
  const slices = slicesOf(body);
  let left = body.byteLength;
  memory.hold(reader, body, held);
  return new Promise((resolve) => {
    response.once("close", () => {
      memory.release(reader, body, held);
      resolve();
    });
    const next = () => {
      if (response.destroyed) return;
      try {
        const { value: slice } = slices.next();
        if (!slice) throw new Error("the body is shorter than its length");
        left -= slice.length;
        // The response ends with its last bytes: a client that has them all may send its next request at once.
        if (left === 0) response.end(slice);
        else response.write(slice, next);
        memory.wrote(slice.length);
      } catch (error) {
        // The Content-Length has been sent: closing the connection shows the client that the body is incomplete.
        response.destroy(error instanceof Error ? error : undefined);
      }
    };
    next();
  });
}

function* slicesOf(body: Buffer | PiecewiseBody): Generator<Buffer, undefined> {
  for (const piece of isPiecewise(body) ? body.pieces() : [body])
    for (let at = 0; at < piece.length; at += inlineBytes) yield piece.subarray(at, at + inlineBytes);
}
