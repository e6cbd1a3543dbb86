import type { ServerResponse } from "node:http";

/** What a request is answered with, where that fits into memory. */
export interface Answer {
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

export function textAnswer(code: number, text: string, headers: Answer["headers"] = {}): Answer {
  return {
    code,
    headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store", ...headers },
    body: `${text}\n`,
  };
}

export function jsonAnswer(value: unknown): Answer {
  const headers = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" };
  return { code: 200, headers, body: JSON.stringify(value) };
}

export function htmlAnswer(code: number, html: string, headers: Answer["headers"] = {}): Answer {
  return {
    code,
    headers: { "content-type": "text/html; charset=utf-8", "cache-control": "no-store", ...headers },
    body: html,
  };
}

export function sendAnswer(response: ServerResponse, { code, headers, body }: Answer): void {
  response.writeHead(code, { ...headers, "content-length": Buffer.byteLength(body) });
  response.end(response.req.method === "HEAD" ? undefined : body);
}
