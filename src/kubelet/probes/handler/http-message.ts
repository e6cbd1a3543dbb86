// Clauses: 950-7
import type { HttpGetAction } from "../../../api/meta/objects.ts";
import { joinHostPort, probeUserAgent } from "./probe-handler.ts";

/** GET request of a probe. */
export interface HttpRequest {
  readonly scheme: "http" | "https";
  /** Host name or IP address, without brackets. */
  readonly host: string;
  readonly port: number;
  /** Path and query of the request line. */
  readonly path: string;
  /** `Host` header, if it differs from the address. */
  readonly hostHeader: string | undefined;
  readonly headers: readonly Header[];
}

interface Header {
  readonly name: string;
  readonly value: string;
}

/** Headers that the client sets itself, or that a request without a body does not have. */
const reservedHeaders = new Set(["host", "connection", "content-length", "transfer-encoding", "trailer"]);

export function createRequest(
  action: HttpGetAction,
  { host, port }: { readonly host: string; readonly port: number },
): HttpRequest {
  const given = action.httpHeaders ?? [];
  const isGiven = (name: string) => given.some((header) => header.name.toLowerCase() === name);
  const headers = given.filter(({ name, value }) => {
    const lower = name.toLowerCase();
    // As upstream, an empty value removes these two headers.
    return !reservedHeaders.has(lower) && (value !== "" || (lower !== "accept" && lower !== "user-agent"));
  });
  if (!isGiven("user-agent")) headers.push({ name: "User-Agent", value: probeUserAgent });
  if (!isGiven("accept")) headers.push({ name: "Accept", value: "*/*" });
  return {
    scheme: action.scheme?.toLowerCase() === "https" ? "https" : "http",
    host,
    port,
    path: escapePath(action.path ?? "/"),
    hostHeader: given.find(({ name }) => name.toLowerCase() === "host")?.value || undefined,
    headers,
  };
}

/** Formats the URL of a request for messages. */
export function formatUrl({ scheme, host, port, path }: HttpRequest): string {
  return `${scheme}://${joinHostPort(host, port)}${path}`;
}

/** Formats the request. Returns a problem if a value contains a line break, which would start another header. */
export function formatRequest(request: HttpRequest): { text: string } | { problem: string } {
  const host = request.hostHeader ?? joinHostPort(request.host, request.port);
  let text = `GET ${request.path} HTTP/1.1\r\nHost: ${host}\r\n`;
  if (hasLineBreak(host)) return { problem: "http: invalid Host header" };
  for (const { name, value } of request.headers) {
    if (hasLineBreak(name)) return { problem: `net/http: invalid header field name ${JSON.stringify(name)}` };
    if (hasLineBreak(value)) {
      return { problem: `net/http: invalid header field value for ${JSON.stringify(name)}` };
    }
    text += `${name}: ${value}\r\n`;
  }
  return { text: `${text}Connection: close\r\n\r\n` };
}

function hasLineBreak(text: string): boolean {
  return /[\0\r\n]/.test(text);
}

type Redirect =
  | { readonly kind: "follow"; readonly request: HttpRequest }
  /** Redirect to another host, which probes do not follow. */
  | { readonly kind: "otherHost" }
  | { readonly kind: "broken"; readonly problem: string };

export function followRedirect(request: HttpRequest, location: string): Redirect {
  const from = new URL(formatUrl(request));
  const target = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (!target)
    return { kind: "broken", problem: `failed to parse Location header ${JSON.stringify(location)}` };
  if (target.hostname !== from.hostname) return { kind: "otherHost" };
  const scheme = target.protocol.slice(0, -1);
  if (scheme !== "http" && scheme !== "https") {
    return { kind: "broken", problem: `unsupported protocol scheme ${JSON.stringify(scheme)}` };
  }
  return {
    kind: "follow",
    request: {
      ...request,
      scheme,
      port: target.port ? Number(target.port) : scheme === "https" ? 443 : 80,
      path: `${target.pathname}${target.search}`,
      hostHeader: URL.canParse(location) ? undefined : request.hostHeader,
    },
  };
}

/** Returns path and query, with all characters escaped that are invalid in a request line. */
function escapePath(given: string): string {
  const [withoutFragment = ""] = given.split("#", 1);
  const path = withoutFragment.replace(/^(?:[a-z][a-z0-9+.-]*:)?\/\/[^/?]*/i, "");
  const rooted = path.startsWith("/") ? path : `/${path}`;
  return rooted
    .replace(/%(?![0-9a-f]{2})/gi, "%25")
    .replace(/[^!$%&'()*+,\-./0-9:;=?@A-Z_a-z~[\]]+/g, (characters) =>
      Buffer.from(characters).toString("hex").toUpperCase().replace(/../g, "%$&"),
    );
}

/** Parsed part of a response that a probe needs. */
export type ParsedResponse =
  | { readonly kind: "incomplete"; readonly part: "head" | "body" }
  | {
      readonly kind: "complete";
      readonly status: number;
      readonly location: string | undefined;
      readonly body: string;
    }
  | { readonly kind: "broken"; readonly part: "head" | "body"; readonly problem: string };

const maxHeadBytes = 16 * 1_024;
const maxBodyBytes = 10 * 1_024;
/** Maximum encoded size of a chunked body, so that an endless sequence of tiny chunks is not read forever. */
const maxEncodedBytes = 16 * 1_024;

/** Parses the received part of an HTTP/1 response. `ended` is true if the connection was closed. */
export function parseHttpResponse(bytes: Buffer, { ended }: { readonly ended: boolean }): ParsedResponse {
  const text = bytes.toString("latin1", 0, maxHeadBytes);
  const gap = /\r?\n\r?\n/.exec(text);
  if (!gap) return parsePartialHead(text, { ended, size: bytes.length });
  const [statusLine = "", ...lines] = text.slice(0, gap.index).split(/\r?\n/);
  const status = Number(/^HTTP\/\d\.\d (\d{3})(?: |$)/.exec(statusLine)?.[1]);
  if (Number.isNaN(status)) return malformed(statusLine);
  const rest = bytes.subarray(gap.index + gap[0].length);
  // 100 and 103 precede the response. 101 switches protocols and is final.
  if (status < 200 && status !== 101) return parseHttpResponse(rest, { ended });

  const body = readBody(rest, { status, header: (name) => findHeader(lines, name), ended });
  if (body.kind !== "complete") return body;
  const location = findHeader(lines, "location");
  return { kind: "complete", status, location, body: body.bytes.subarray(0, maxBodyBytes).toString() };
}

function parsePartialHead(text: string, { ended, size }: { ended: boolean; size: number }): ParsedResponse {
  const [line = ""] = text.split(/\r?\n/, 1);
  if (size > 0 && !"HTTP/".startsWith(text.slice(0, 5))) return malformed(line);
  if (size >= maxHeadBytes) {
    return {
      kind: "broken",
      part: "head",
      problem: `server response headers exceeded ${maxHeadBytes} bytes`,
    };
  }
  if (!ended) return { kind: "incomplete", part: "head" };
  return { kind: "broken", part: "head", problem: size === 0 ? "EOF" : "unexpected EOF" };
}

function malformed(line: string): ParsedResponse {
  const problem = `malformed HTTP response ${JSON.stringify(line.slice(0, 200))}`;
  return {
    kind: "broken",
    part: "head",
    problem: `net/http: HTTP/1.x transport connection broken: ${problem}`,
  };
}

function findHeader(lines: readonly string[], name: string): string | undefined {
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon > 0 && line.slice(0, colon).toLowerCase() === name) return line.slice(colon + 1).trim();
  }
  return undefined;
}

type Body =
  | { readonly kind: "complete"; readonly bytes: Buffer }
  | Exclude<ParsedResponse, { kind: "complete" }>;

const unfinished: Body = { kind: "incomplete", part: "body" };
const cutShort: Body = { kind: "broken", part: "body", problem: "unexpected EOF" };

function readBody(
  bytes: Buffer,
  facts: { status: number; header: (name: string) => string | undefined; ended: boolean },
): Body {
  const { status, header, ended } = facts;
  if (status === 101 || status === 204 || status === 304) {
    return { kind: "complete", bytes: Buffer.alloc(0) };
  }
  if (header("transfer-encoding")?.toLowerCase() === "chunked") return readChunks(bytes, { ended });
  const length = header("content-length");
  if (length === undefined) {
    return ended || bytes.length >= maxBodyBytes ? { kind: "complete", bytes } : unfinished;
  }
  if (!/^\d+$/.test(length)) {
    return { kind: "broken", part: "head", problem: `bad Content-Length ${JSON.stringify(length)}` };
  }
  const wanted = Math.min(Number(length), maxBodyBytes);
  if (bytes.length >= wanted) return { kind: "complete", bytes: bytes.subarray(0, wanted) };
  return ended ? cutShort : unfinished;
}

function readChunks(bytes: Buffer, { ended }: { ended: boolean }): Body {
  const chunks: Buffer[] = [];
  let size = 0;
  let at = 0;
  while (size < maxBodyBytes && at < maxEncodedBytes) {
    const lineEnd = bytes.indexOf("\n", at);
    if (lineEnd < 0) break;
    const line = bytes.toString("latin1", at, lineEnd).trim();
    const length = Number.parseInt(line, 16);
    if (!/^[0-9a-f]{1,8}(?:\s*;|$)/i.test(line)) {
      return { kind: "broken", part: "body", problem: "invalid byte in chunk length" };
    }
    if (length === 0) return { kind: "complete", bytes: Buffer.concat(chunks) };
    const chunk = bytes.subarray(lineEnd + 1, lineEnd + 1 + length);
    chunks.push(chunk);
    size += chunk.length;
    at = lineEnd + 1 + length + 2;
  }
  const enough = size >= maxBodyBytes || bytes.length >= maxEncodedBytes;
  if (enough) return { kind: "complete", bytes: Buffer.concat(chunks) };
  return ended ? cutShort : unfinished;
}
