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
