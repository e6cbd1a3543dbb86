import { mkdtemp, readFile, rm } from "node:fs/promises";
import { Agent, request as httpsRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { defaultFeatures, type Features } from "../../../src/api/meta/feature-gates.ts";
import type { KubeObject } from "../../../src/api/meta/objects.ts";
import type { ApiServerLimits } from "../../../src/apiserver/api-server.ts";
import { parseTokenFile } from "../../../src/apiserver/auth/token/token-file.ts";
import type { KindRegistry } from "../../../src/apiserver/kinds/kind-registry.ts";
import { type StoreOptions, startControlPlane } from "../../../src/cluster/parts/control-plane.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import { type Logger, silentLogger } from "../../../src/lib/logger.ts";

/** Requests as the administrator, unless the headers set another user. */
export interface ApiClient {
  call(method: string, path: string, options?: CallOptions): Promise<Response>;
  /** The same for a request that must succeed. */
  json<T = KubeObject>(method: string, path: string, body?: unknown): Promise<T>;
  /** Closes its connections. */
  disconnect(): void;
}

export interface TestServer extends Omit<ApiClient, "disconnect"> {
  readonly url: string;
  readonly kubeconfig: string;
  readonly dataDir: string;
  close(): Promise<void>;
}

interface CallOptions {
  body?: unknown;
  headers?: Record<string, string>;
  /** Without the client certificate. */
  anonymous?: boolean;
}

interface Response {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  json<T = KubeObject>(): T;
}

export interface TestServerOptions {
  features?: Partial<Features>;
  kinds?: KindRegistry;
  store?: StoreOptions;
  /** What a file for --token-auth-file has. */
  tokens?: string;
  /** One that stays when the server is closed; otherwise a new one, which goes with it. */
  dataDir?: string;
  /** For a server that comes back where it was. */
  port?: number;
  logger?: Logger;
  clock?: Clock;
  limits?: ApiServerLimits;
  externalIPs?: "allowed" | "denied";
}

/** A real server on a real port, with its own store. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), "kindling-test-")));
  const server = await startControlPlane({
    dataDir,
    store: options.store ?? { kind: "memory" },
    listen: { host: "127.0.0.1", port: options.port ?? 0 },
    features: { ...defaultFeatures, ...options.features },
    ...(options.kinds && { kinds: options.kinds }),
    logger: options.logger ?? silentLogger,
    ...(options.clock && { clock: options.clock }),
    ...(options.limits && { limits: options.limits }),
    ...(options.externalIPs && { externalIPs: options.externalIPs }),
    ...(options.tokens !== undefined && { staticTokens: parseTokenFile(options.tokens, "tokens") }),
  });
  const { disconnect, ...client } = await connectClient(server.url, server.kubeconfig);
  return {
    ...client,
    url: server.url,
    kubeconfig: server.kubeconfig,
    dataDir,
    async close() {
      disconnect();
      await server.close();
      if (!options.dataDir) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export async function connectClient(url: string, kubeconfig: string): Promise<ApiClient> {
  return createClient(url, await readCredentials(kubeconfig));
}

/** What a TLS client shows: who it is by its certificate, and whom it trusts. */
interface Credentials {
  ca: string | Buffer;
  cert?: string | Buffer;
  key?: string | Buffer;
  /** False for a server with a self-signed certificate. */
  rejectUnauthorized?: boolean;
}

export function createClient(url: string, credentials: Credentials): ApiClient {
  const agents = {
    admin: new Agent({ keepAlive: true, maxSockets: 64, ...credentials }),
    anonymous: new Agent({
      keepAlive: true,
      ca: credentials.ca,
      rejectUnauthorized: credentials.rejectUnauthorized,
    }),
  };
  const call: ApiClient["call"] = (method, path, { body, headers = {}, anonymous = false } = {}) =>
    send(new URL(path, url), { method, body, headers, agent: anonymous ? agents.anonymous : agents.admin });
  return {
    call,
    async json(method, path, body) {
      const response = await call(method, path, { body });
      if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status} ${response.text}`);
      return response.json();
    },
    disconnect() {
      agents.admin.destroy();
      agents.anonymous.destroy();
    },
  };
}

export async function readCredentials(
  kubeconfig: string,
): Promise<{ ca: Buffer; cert: Buffer; key: Buffer }> {
  const { clusters, users } = parse(await readFile(kubeconfig, "utf8"));
  const decode = (text: string) => Buffer.from(text, "base64");
  return {
    ca: decode(clusters[0].cluster["certificate-authority-data"]),
    cert: decode(users[0].user["client-certificate-data"]),
    key: decode(users[0].user["client-key-data"]),
  };
}

interface SendOptions {
  method: string;
  body: unknown;
  headers: Record<string, string>;
  agent: Agent;
}

function send(url: URL, { body, headers, ...options }: SendOptions): Promise<Response> {
  const isRaw = body === undefined || typeof body === "string" || body instanceof Uint8Array;
  const payload = isRaw ? body : JSON.stringify(body);
  const length = payload === undefined ? 0 : Buffer.byteLength(payload);
  const defaults =
    payload === undefined ? {} : { "content-type": "application/json", "content-length": String(length) };
  return new Promise((resolve, reject) => {
    const request = httpsRequest(url, { ...options, headers: { ...defaults, ...headers } }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          json: () => JSON.parse(text),
        });
      });
    });
    request.on("error", reject);
    request.end(payload);
  });
}
