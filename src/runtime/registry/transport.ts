import { lookup } from "node:dns";
import { readFile } from "node:fs/promises";
import http from "node:http";
import https from "node:https";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { rootCertificates } from "node:tls";
import { ImageError } from "../errors/image-error.ts";
import type { RegistriesConfig } from "./credentials.ts";

interface HttpRequest {
  readonly url: URL;
  readonly method?: "GET" | "HEAD" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Addresses that the request may reach. Defaults to any, for URLs that the user named. */
  readonly reach?: Reach;
  readonly signal: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** Body. Must be read to its end or destroyed; otherwise the connection stays in use. */
  readonly body: http.IncomingMessage;
}

/** HTTP client with keep-alive connections that follows redirects. */
export interface Transport {
  send(request: HttpRequest): Promise<HttpResponse>;
  /** Closes kept-alive connections that are not in use, so that the next request opens a new connection. */
  closeIdle(): void;
  close(): void;
}

const maxRedirects = 10;

export function createTransport({
  certificateAuthorities = new Map(),
}: Partial<Pick<RegistriesConfig, "certificateAuthorities">> = {}): Transport {
  const plain = new http.Agent({ keepAlive: true });
  const secure = new https.Agent({ keepAlive: true });
  /** Agents of hosts with their own certificate authorities, which are trusted for that host only. */
  const ownAgents = new Map<string, https.Agent>();

  async function secureAgent({ host }: URL): Promise<https.Agent> {
    const file = certificateAuthorities.get(host);
    if (file === undefined) return secure;
    const known = ownAgents.get(host);
    if (known) return known;
    const own = await readFile(file, "utf8").catch((error: Error) => {
      throw new ImageError("invalidConfig", `the certificate authorities of ${host}: ${error.message}`);
    });
    const agent = new https.Agent({ keepAlive: true, ca: [...rootCertificates, own] });
    ownAgents.set(host, agent);
    return agent;
  }

  async function sendOnce(request: HttpRequest): Promise<HttpResponse> {
    const { url, method = "GET", headers, body, signal, reach = "any" } = request;
    checkScheme(url);
    checkReach(reach, url.hostname);
    const agent = url.protocol === "https:" ? await secureAgent(url) : undefined;
    return new Promise((resolve, reject) => {
      const options = {
        method,
        headers: { "user-agent": "kindling", ...headers },
        signal,
        ...(reach !== "any" && { lookup: lookupWithin(reach) }),
      };
      const outgoing = agent
        ? https.request(url, { ...options, agent })
        : http.request(url, { ...options, agent: plain });
      outgoing.on("error", (error) => reject(signal.aborted ? signal.reason : networkError(url, error)));
      outgoing.on("response", (incoming) =>
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: incoming }),
      );
      outgoing.end(body);
    });
  }

  return {
    async send(request) {
      let current = request;
      for (let redirects = 0; redirects <= maxRedirects; redirects++) {
        current.signal.throwIfAborted();
        const response = await sendOnce(current);
        const next = redirectOf(current, response);
        if (!next) return response;
        discard(response);
        current = next;
      }
      throw new ImageError("network", `${request.url.host} sent more than ${maxRedirects} redirects`);
    },
    closeIdle() {
      for (const { freeSockets } of [plain, secure, ...ownAgents.values()])
        for (const socket of Object.values(freeSockets).flatMap((sockets) => sockets ?? [])) socket.destroy();
    },
    close() {
      for (const agent of [plain, secure, ...ownAgents.values()]) agent.destroy();
    },
  };
}

/** Request that follows a redirect. Credentials are never sent to another host than the one they are for. */
function redirectOf(
  request: HttpRequest,
  response: { status: number; headers: http.IncomingHttpHeaders },
): HttpRequest | undefined {
  const { location } = response.headers;
  if (![301, 302, 303, 307, 308].includes(response.status) || !location) return undefined;
  if (!URL.canParse(location, request.url.href)) {
    throw new ImageError(
      "network",
      `${request.url.host} redirects to "${location}", which is not an address`,
    );
  }
  const url = new URL(location, request.url);
  if (url.origin === request.url.origin) return { ...request, url };
  // Only token requests have a body, and it contains the credential.
  if (request.body !== undefined)
    throw new ImageError(
      "unauthorized",
      `${request.url.host} redirects to ${url.host}; credentials are not sent there`,
    );
  const headers = Object.fromEntries(
    Object.entries(request.headers ?? {}).filter(([name]) => name.toLowerCase() !== "authorization"),
  );
  const reach = url.host === request.url.host ? request.reach : reachOfRedirect(request.url);
  return { ...request, url, headers, reach };
}

function checkScheme({ protocol }: URL): void {
  if (protocol !== "http:" && protocol !== "https:")
    throw new ImageError("unsupported", `the registry redirects to ${protocol}, which is not supported`);
}

function networkError(url: URL, error: unknown): ImageError {
  if (error instanceof ImageError) return error;
  const text =
    error instanceof Error ? error.message || String((error as { code?: string }).code) : String(error);
  return new ImageError("network", `cannot reach ${url.host}: ${text}`, { cause: error });
}

/** Limits for discarded bodies, which are usually short. */
const [discardedBytes, discardedMs] = [64 << 10, 5_000];

/** Reads and drops a body so that its connection can be reused; a long body closes the connection instead. */
export function discard({ body }: Pick<HttpResponse, "body">): void {
  let length = 0;
  const late = setTimeout(() => body.destroy(), discardedMs).unref();
  body.once("close", () => clearTimeout(late));
  body.on("error", () => {});
  body.on("data", (part: Buffer) => {
    length += part.length;
    if (length > discardedBytes) body.destroy();
  });
}

/** Reads a body into memory, up to a limit. */
export async function readBody(response: HttpResponse, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of response.body) {
      parts.push(part);
      length += part.length;
      if (length > maxBytes) throw new ImageError("tooLarge", `the response has more than ${maxBytes} bytes`);
    }
  } catch (error) {
    if (error instanceof ImageError) throw error;
    throw new ImageError("network", `the connection was cut: ${String(error)}`, { cause: error });
  }
  return Buffer.concat(parts);
}

/*
 * Addresses that a registry refers to: its token server and its blob storage. A hostile registry could refer to services
 * that only this machine reaches, on its loopback interface or the metadata service of its cloud. Private networks are
 * allowed, because the storage behind a company's registry is there. A registry on loopback may be any program of any
 * user of this machine, or a forwarded port; its redirects stay on loopback.
 */

/** Addresses that a request may reach. */
export type Reach =
  | "any"
  /** Other machines only. */
  | "remote"
  /** Loopback only. */
  | "loopback"
  /** Other machines and loopback, but no metadata service. */
  | "remoteOrLoopback";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");
// The unspecified addresses connect to loopback.
loopback.addSubnet("0.0.0.0", 8, "ipv4");
loopback.addAddress("::", "ipv6");

const metadata = new BlockList();
metadata.addSubnet("169.254.0.0", 16, "ipv4");
metadata.addSubnet("fe80::", 10, "ipv6");
// Metadata services that are not link-local: EC2, Alibaba Cloud, Azure and Oracle Cloud.
metadata.addAddress("fd00:ec2::254", "ipv6");
for (const address of ["100.100.100.200", "168.63.129.16", "192.0.0.192"])
  metadata.addAddress(address, "ipv4");

/** Addresses that a redirect of this URL may lead to. */
export function reachOfRedirect(from: URL): Reach {
  return kindOf(bare(from.hostname)) === "loopback" ? "loopback" : "remote";
}

/** Addresses at which the token server of this registry may be. */
export function reachOfTokenServer(registry: URL, realm: URL): Reach {
  if (registry.host === realm.host) return "any";
  return kindOf(bare(registry.hostname)) === "loopback" ? "remoteOrLoopback" : "remote";
}

/** Throws for an address out of reach. Host names are checked by `lookupWithin` when they are resolved. */
export function checkReach(reach: Reach, hostname: string): void {
  const host = bare(hostname);
  const kind = kindOf(host);
  if (isIP(host) === 0 && kind !== "loopback") return;
  if (!isWithin(reach, kind)) throw refused(reach, hostname);
}

/** Resolves names as the system does, and fails when one of the addresses is out of reach. */
export function lookupWithin(reach: Reach): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error || !first) return callback(error ?? new Error(`no address for ${hostname}`), []);
      if (addresses.some(({ address }) => !isWithin(reach, kindOf(address))))
        return callback(refused(reach, hostname), []);
      return options.all ? callback(null, addresses) : callback(null, first.address, first.family);
    });
  };
}

type AddressKind = "loopback" | "metadata" | "remote";

function isWithin(reach: Reach, kind: AddressKind): boolean {
  switch (reach) {
    case "any":
      return true;
    case "remoteOrLoopback":
      return kind !== "metadata";
    case "remote":
    case "loopback":
      return kind === reach;
  }
}

function kindOf(host: string): AddressKind {
  const family = isIP(host);
  if (family === 0) return host === "localhost" || host.endsWith(".localhost") ? "loopback" : "remote";
  const type = family === 6 ? "ipv6" : "ipv4";
  if (loopback.check(host, type)) return "loopback";
  return metadata.check(host, type) ? "metadata" : "remote";
}

function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "").toLowerCase();
}

function refused(reach: Reach, hostname: string): ImageError {
  const why =
    reach === "loopback"
      ? "but a registry on loopback may redirect only to loopback"
      : "an address of this machine alone";
  return new ImageError("unsupported", `the registry leads to ${hostname}, ${why}`);
}
