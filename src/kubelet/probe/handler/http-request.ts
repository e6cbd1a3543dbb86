import type { HttpGetAction } from "../../../api/objects.ts";
import { joinHostPort } from "./find-address.ts";
import { probeUserAgent } from "./probe-user-agent.ts";

/** One GET of a probe. */
export interface HttpRequest {
  readonly scheme: "http" | "https";
  /** A name or an address, without brackets. */
  readonly host: string;
  readonly port: number;
  /** What goes into the request line. */
  readonly path: string;
  /** `Host` where it is another than the address. */
  readonly hostHeader: string | undefined;
  readonly headers: readonly Header[];
}

interface Header {
  readonly name: string;
  readonly value: string;
}

/** Written by the client itself, or not at all for a request without a body. */
const reservedHeaders = new Set(["host", "connection", "content-length", "transfer-encoding", "trailer"]);

export function createRequest(
  action: HttpGetAction,
  { host, port }: { readonly host: string; readonly port: number },
): HttpRequest {
  const given = action.httpHeaders ?? [];
  const isGiven = (name: string) => given.some((header) => header.name.toLowerCase() === name);
  const headers = given.filter(({ name, value }) => {
    const lower = name.toLowerCase();
    // Given without a value, these two are left out of the request.
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

/** The address of a request, as messages show it. */
export function formatUrl({ scheme, host, port, path }: HttpRequest): string {
  return `${scheme}://${joinHostPort(host, port)}${path}`;
}

/** The bytes to send, or what is wrong with them: a line break in a value would begin another header. */
export function formatRequest(request: HttpRequest): { text: string } | { problem: string } {
  const host = request.hostHeader ?? joinHostPort(request.host, request.port);
  let text = `GET ${request.path} HTTP/1.1\r\nHost: ${host}\r\n`;
  if (breaksLine(host)) return { problem: "http: invalid Host header" };
  for (const { name, value } of request.headers) {
    if (breaksLine(name)) return { problem: `net/http: invalid header field name ${JSON.stringify(name)}` };
    if (breaksLine(value)) {
      return { problem: `net/http: invalid header field value for ${JSON.stringify(name)}` };
    }
    text += `${name}: ${value}\r\n`;
  }
  return { text: `${text}Connection: close\r\n\r\n` };
}

function breaksLine(text: string): boolean {
  return /[\0\r\n]/.test(text);
}

export type Redirect =
  | { readonly kind: "follow"; readonly request: HttpRequest }
  /** To another host: probes do not leave the pod. */
  | { readonly kind: "leave" }
  | { readonly kind: "broken"; readonly problem: string };

export function followRedirect(request: HttpRequest, location: string): Redirect {
  const from = new URL(formatUrl(request));
  const target = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (!target)
    return { kind: "broken", problem: `failed to parse Location header ${JSON.stringify(location)}` };
  if (target.hostname !== from.hostname) return { kind: "leave" };
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

/** Only the path and the query of what was given, with everything escaped that has no place in a request line. */
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
