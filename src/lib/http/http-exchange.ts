import { once } from "node:events";
import type { ServerResponse } from "node:http";

/** Error response of the kubelet's server: plain text, as upstream. */
export class HttpError extends Error {
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = "HttpError";
    this.code = code;
    this.headers = headers;
  }
}

export interface RequestPath {
  /** Segments of the path. Each is decoded separately, so an encoded slash stays inside its segment. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

export function parsePath(url: string): RequestPath {
  const mark = url.indexOf("?");
  const path = mark === -1 ? url : url.slice(0, mark);
  const query = new URLSearchParams(mark === -1 ? "" : url.slice(mark + 1));
  try {
    const segments = path.replace(/^\//, "").replace(/\/$/, "").split("/").map(decodeURIComponent);
    return { segments, query };
  } catch {
    throw new HttpError(400, "the request path is not valid percent-encoding");
  }
}

/** Reads a boolean query parameter: true if present, unless its value is `0` or `false`. */
export function readFlag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value !== "0" && value.toLowerCase() !== "false";
}

export function sendText(
  response: ServerResponse,
  text: string,
  { code = 200, type = "text/plain" } = {},
): void {
  const headers = {
    "content-type": type.includes("charset") ? type : `${type}; charset=utf-8`,
    "x-content-type-options": "nosniff",
  };
  sendResponse(response, { code, headers, body: text });
}

export function sendJson(response: ServerResponse, value: unknown): void {
  sendText(response, JSON.stringify(value), { type: "application/json" });
}

export function sendError(response: ServerResponse, error: HttpError): void {
  for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value);
  sendText(response, error.message, { code: error.code });
}

/** Streams chunks to the client with back-pressure. Stops when the client closes the connection. */
export async function sendStream(
  response: ServerResponse,
  chunks: AsyncIterable<Buffer | string>,
  { type, signal }: { type: string; signal: AbortSignal },
): Promise<void> {
  response.writeHead(200, { "content-type": type, "x-content-type-options": "nosniff" });
  // A client that watches sees the response headers before the first chunk.
  response.flushHeaders();
  for await (const chunk of chunks) {
    if (chunk.length > 0 && !response.write(chunk)) await once(response, "drain", { signal });
  }
  response.end();
}

/** HTTP response with a body in memory. */
export interface HttpResponse {
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

export function textResponse(
  code: number,
  text: string,
  headers: HttpResponse["headers"] = {},
): HttpResponse {
  return {
    code,
    headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store", ...headers },
    body: `${text}\n`,
  };
}

export function jsonResponse(value: unknown): HttpResponse {
  const headers = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" };
  return { code: 200, headers, body: JSON.stringify(value) };
}

export function htmlResponse(
  code: number,
  html: string,
  headers: HttpResponse["headers"] = {},
): HttpResponse {
  return {
    code,
    headers: { "content-type": "text/html; charset=utf-8", "cache-control": "no-store", ...headers },
    body: html,
  };
}

export function sendResponse(response: ServerResponse, { code, headers, body }: HttpResponse): void {
  response.writeHead(code, { ...headers, "content-length": Buffer.byteLength(body) });
  response.end(response.req.method === "HEAD" ? undefined : body);
}
