import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { HttpError } from "./http-error.ts";

export function sendText(
  response: ServerResponse,
  text: string,
  { code = 200, type = "text/plain" } = {},
): void {
  response.writeHead(code, {
    "content-type": type.includes("charset") ? type : `${type}; charset=utf-8`,
    "content-length": Buffer.byteLength(text),
    "x-content-type-options": "nosniff",
  });
  response.end(text);
}

export function sendJson(response: ServerResponse, value: unknown): void {
  sendText(response, JSON.stringify(value), { type: "application/json" });
}

export function sendError(response: ServerResponse, error: HttpError): void {
  for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value);
  sendText(response, error.message, { code: error.code });
}

/** Sends what comes as it comes. A reader that is slow slows the source; one that is gone ends it. */
export async function sendStream(
  response: ServerResponse,
  chunks: AsyncIterable<Buffer | string>,
  { type, signal }: { type: string; signal: AbortSignal },
): Promise<void> {
  response.writeHead(200, { "content-type": type, "x-content-type-options": "nosniff" });
  // Whoever follows something silent sees at once that it is open.
  response.flushHeaders();
  for await (const chunk of chunks) {
    if (chunk.length > 0 && !response.write(chunk)) await once(response, "drain", { signal });
  }
  response.end();
}
