import type { ServerResponse } from "node:http";

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
