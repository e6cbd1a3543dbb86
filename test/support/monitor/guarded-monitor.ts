import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request as send } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { issueClientCertificate, loadOrCreatePki, type Pki } from "../../../src/apiserver/auth/pki/pki.ts";
import type { Client } from "../../../src/client/api/client.ts";
import { connectCluster } from "../../../src/client/api/create-client.ts";
import { createLogger, silentLogger } from "../../../src/lib/logger.ts";
import { createManualClock, type ManualClock } from "../../../src/lib/manual-clock.ts";
import type { MonitorParts } from "../../../src/monitor/server/handle-request.ts";
import { type MonitorServer, startMonitorServer } from "../../../src/monitor/server/monitor-server.ts";
import { startTestServer, type TestServer } from "../servers/api-server.ts";

export const viewerToken = "viewers-token-is-a-secret";
export const otherToken = "others-token-is-a-secret";
export const scraperToken = "scrapers-token-is-a-secret";

interface AskOptions {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly pair?: { cert: string; key: string };
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

/** A monitor that serves beyond loopback, and so asks the cluster who may look. The three tokens are of that cluster. */
export interface GuardedMonitor {
  readonly api: TestServer;
  readonly client: Client;
  readonly url: string;
  readonly clock: ManualClock;
  /** All that it has logged. */
  log(): string;
  /** A certificate of the cluster's CA. */
  certificateOf(user: string): { cert: string; key: string };
  /** The right to a path, by a role and a binding that are named as the user is. */
  grant(user: string, path: string): Promise<void>;
  /** A path of the monitor, or an address elsewhere. */
  open(path: string, options?: AskOptions): Promise<IncomingMessage>;
  ask(path: string, options?: AskOptions): Promise<Answer>;
  logIn(token: string, headers?: Record<string, string>): Promise<Answer>;
  /** Another monitor of the same parts and clock, over this client; its address. */
  startAnother(client: Pick<Client, "request">): Promise<{ url: string; close(): Promise<void> }>;
}

const parts: MonitorParts = {
  async *subscribe(signal) {
    yield "{}";
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  },
  scrape: () => ({ contentType: "text/plain", body: "metrics" }),
  report: () => ({ slos: [] }),
};

/** Filled before the first test. */
export function useGuardedMonitor(): GuardedMonitor {
  let dataDir: string;
  let api: TestServer;
  let pki: Pki;
  let client: Client;
  let server: MonitorServer;
  const log: string[] = [];
  const clock = createManualClock(Date.now());
  const common = { listen: { host: "0.0.0.0", port: 0 }, parts, clock };

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "kindling-monitor-"));
    const tokens = `${viewerToken},viewer,1\n${otherToken},other,2\n${scraperToken},scraper,3\n`;
    api = await startTestServer({ dataDir, tokens });
    pki = await loadOrCreatePki({ directory: join(dataDir, "pki"), now: Date.now() });
    client = await connectCluster({ kubeconfig: api.kubeconfig });
    await grant("viewer", "/kindling/dashboard");
    await grant("scraper", "/metrics");
    const destination = { write: (line: string) => log.push(line) };
    const logger = createLogger({ format: "json", level: "trace", destination });
    server = await startMonitorServer({ ...common, client, clientCa: pki.authority.cert, logger });
  });
  afterAll(async () => {
    await server?.close();
    client?.close();
    await api?.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  async function grant(user: string, path: string): Promise<void> {
    const group = "rbac.authorization.k8s.io";
    const base = { apiVersion: `${group}/v1`, metadata: { name: user } };
    await api.json("POST", `/apis/${group}/v1/clusterroles`, {
      ...base,
      kind: "ClusterRole",
      rules: [{ nonResourceURLs: [path], verbs: ["get"] }],
    });
    await api.json("POST", `/apis/${group}/v1/clusterrolebindings`, {
      ...base,
      kind: "ClusterRoleBinding",
      roleRef: { apiGroup: group, kind: "ClusterRole", name: user },
      subjects: [{ apiGroup: group, kind: "User", name: user }],
    });
  }

  async function open(
    path: string,
    { method = "GET", headers = {}, body, pair }: AskOptions = {},
  ): Promise<IncomingMessage> {
    const url = new URL(path, reachable(server.url));
    const request = send(url, { method, headers, agent: false, rejectUnauthorized: false, ...pair });
    request.end(body);
    const [response] = (await once(request, "response")) as [IncomingMessage];
    return response;
  }

  async function ask(path: string, options: AskOptions = {}): Promise<Answer> {
    const response = await open(path, options);
    let text = "";
    for await (const chunk of response) text += chunk;
    return { status: response.statusCode, headers: response.headers, text };
  }

  return {
    get api() {
      return api;
    },
    get client() {
      return client;
    },
    get url() {
      return server.url;
    },
    clock,
    log: () => log.join(""),
    certificateOf: (commonName) => issueClientCertificate(pki, { commonName, now: Date.now() }),
    grant,
    open,
    ask,
    logIn: (token, headers = {}) =>
      ask("/login", {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
        body: `token=${encodeURIComponent(token)}`,
      }),
    async startAnother(over) {
      const another = await startMonitorServer({ ...common, client: over, logger: silentLogger });
      return { url: reachable(another.url), close: another.close };
    },
  };
}

export const reachable = (url: string) => url.replace("0.0.0.0", "127.0.0.1");

export const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

export const cookieOf = ({ headers }: Pick<Answer, "headers">) =>
  headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
