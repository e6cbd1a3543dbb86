import { readFile } from "node:fs/promises";
import http from "node:http";
import https from "node:https";
import { rootCertificates } from "node:tls";
import { ImageError } from "../image/image-error.ts";
import { checkReferred, isReferral, referredLookup } from "./referral.ts";
import type { RegistriesConfig } from "./registries-config.ts";

interface HttpRequest {
  readonly url: URL;
  readonly method?: "GET" | "HEAD" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Named by a registry, not by the user: it is not let near this machine's own services. */
  readonly isReferred?: boolean;
  readonly signal: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** Must be read to its end or destroyed, else its connection stays taken. */
  readonly body: http.IncomingMessage;
}

/** HTTP with kept-alive connections; redirects are followed here. */
export interface Transport {
  send(request: HttpRequest): Promise<HttpResponse>;
  close(): void;
}

const maxRedirects = 10;

export function createTransport({
  certificateAuthorities = new Map(),
}: Partial<Pick<RegistriesConfig, "certificateAuthorities">> = {}): Transport {
  const plain = new http.Agent({ keepAlive: true });
  const secure = new https.Agent({ keepAlive: true });
  /** Of hosts with authorities of their own: what one of these signs counts for that host alone. */
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
    const { url, method = "GET", headers, body, signal, isReferred = false } = request;
    checkScheme(url);
    if (isReferred) checkReferred(url.hostname);
    const agent = url.protocol === "https:" ? await secureAgent(url) : undefined;
    return new Promise((resolve, reject) => {
      const options = {
        method,
        headers: { "user-agent": "kindling", ...headers },
        signal,
        ...(isReferred && { lookup: referredLookup }),
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
      throw new ImageError("network", `${request.url.host} redirects in a circle`);
    },
    close() {
      for (const agent of [plain, secure, ...ownAgents.values()]) agent.destroy();
    },
  };
}

/** The request to follow with. Credentials are for the host they were given for: another one never sees them. */
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
  // A body is sent for tokens only, and has the credential in it.
  if (request.body !== undefined)
    throw new ImageError(
      "unauthorized",
      `${request.url.host} redirects to ${url.host}; credentials are not sent there`,
    );
  const headers = Object.fromEntries(
    Object.entries(request.headers ?? {}).filter(([name]) => name.toLowerCase() !== "authorization"),
  );
  return { ...request, url, headers, isReferred: request.isReferred || isReferral(request.url, url) };
}

function checkScheme({ protocol }: URL): void {
  if (protocol !== "http:" && protocol !== "https:")
    throw new ImageError("unsupported", `the registry leads to ${protocol}, which is not followed`);
}

function networkError(url: URL, error: unknown): ImageError {
  if (error instanceof ImageError) return error;
  const text =
    error instanceof Error ? error.message || String((error as { code?: string }).code) : String(error);
  return new ImageError("network", `cannot reach ${url.host}: ${text}`, { cause: error });
}

/** Such bodies are short, and come with their heads. */
const [discardedBytes, discardedMs] = [64 << 10, 5_000];

/** Reads an answer that nobody wants, so that its connection can be used again; a registry that makes it long is left. */
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

/** A body that fits in memory; bigger ones are refused before they are read. */
export async function readText(response: HttpResponse, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of response.body) {
      parts.push(part);
      length += part.length;
      if (length > maxBytes) throw new ImageError("tooLarge", `an answer of more than ${maxBytes} bytes`);
    }
  } catch (error) {
    if (error instanceof ImageError) throw error;
    throw new ImageError("network", `the connection was cut: ${String(error)}`, { cause: error });
  }
  return Buffer.concat(parts);
}
