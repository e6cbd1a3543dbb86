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

export type Redirect =
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
