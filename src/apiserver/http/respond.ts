import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { StatusError } from "../../api/status-error.ts";

interface Bytes {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
  readonly bodyBytes?: number;
}

export function sendBytes(response: ServerResponse, answer: Bytes, method: string): void {
  const { status, headers, body, bodyBytes = Buffer.byteLength(body) } = answer;
  response.writeHead(status, {
    "cache-control": "no-cache, private",
    ...headers,
    "content-length": bodyBytes,
  });
  response.end(method === "HEAD" ? undefined : body);
}

/** `Warning` headers, which kubectl shows to its user; one line each, quoted, without control characters. */
export function sendWarnings(response: ServerResponse, warnings: readonly string[] = []): void {
  if (warnings.length === 0) return;
  const quoted = warnings.map((text) => `299 - ${JSON.stringify(text.replace(/[^\x20-\x7e]/g, "?"))}`);
  response.setHeader("warning", quoted);
}

export function sendError(response: ServerResponse, error: StatusError, request: IncomingMessage): void {
  // A watch that fails after its first bytes has told its client already.
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const retryAfter = error.details?.retryAfterSeconds;
  if (retryAfter !== undefined) response.setHeader("retry-after", String(retryAfter));
  // What has not been read of a body would have to be taken in first, however long it is.
  if (hasBody(request.headers) && !request.complete) response.setHeader("connection", "close");
  sendWarnings(response, error.warnings);
  const body = JSON.stringify(error.toStatus());
  sendBytes(response, { status: error.code, headers: { "content-type": "application/json" }, body }, "");
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

export function refuseUpgrade(socket: Duplex, error: StatusError): void {
  const body = JSON.stringify(error.toStatus());
  socket.end(
    `HTTP/1.1 ${error.code} ${STATUS_CODES[error.code] ?? ""}\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
