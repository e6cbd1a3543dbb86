import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Pod } from "../../../src/api/meta/objects.ts";
import type { StartupBudget } from "../../../src/api/pod/startup-budget.ts";
import { issueClientCertificate, loadOrCreatePki, type Pki } from "../../../src/apiserver/auth/pki/pki.ts";
import { createClient } from "../../../src/client/api/create-client.ts";
import { createHttpTransport } from "../../../src/client/transport/http-transport.ts";
import type { CriClient } from "../../../src/cri/cri-client.ts";
import type { StartupProbeAdvice } from "../../../src/kubelet/probes/startup-advice.ts";
import { type KubeletServerOptions, startKubeletServer } from "../../../src/kubelet/server/kubelet-server.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import type { ContainerPull } from "../../../src/lib/image/pull-progress.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { createMetrics, type Metrics } from "../../../src/lib/metrics/metrics.ts";
import {
  type ApiClient,
  createClient as createApiClient,
  startTestServer,
  type TestServer,
} from "../servers/api-server.ts";

/** An API server and the server of a kubelet on node `n1`, with the pods that a test sets. */
export interface KubeletServerFixture {
  readonly api: TestServer;
  readonly pki: Pki;
  readonly url: string;
  readonly logsDir: string;
  readonly metrics: Metrics;
  /** By `namespace/name`. */
  readonly pods: Map<string, Pod>;
  readonly pulls: { now: readonly ContainerPull[]; changed(): void };
  /** Of startup probes, by the container's id. */
  readonly budgets: Map<string, StartupBudget>;
  /** By the name of the container. */
  readonly advice: Map<string, StartupProbeAdvice>;
  /** What the kubelet asked the API server, by path. */
  readonly asked: string[];
  readonly log: string[];
  /** A client of the kubelet by a certificate of the cluster's CA; without a name, with none. */
  as(commonName?: string, ...organizations: string[]): ApiClient;
  close(): Promise<void>;
}

type Overrides = Partial<
  Pick<KubeletServerOptions, "authentication" | "authorization" | "health" | "systemLogs">
> & {
  readonly cri?: Pick<CriClient, "runtime">;
  readonly logsDir?: string;
};

const noRuntime = new Proxy({} as CriClient["runtime"], {
  get: (_, method) => () => Promise.reject(new Error(`${String(method)}: there is no runtime in this test`)),
});

export async function startKubeletFixture(overrides: Overrides = {}): Promise<KubeletServerFixture> {
  const home = await mkdtemp(join(tmpdir(), "kindling-kubelet-"));
  const api = await startTestServer();
  const now = Date.now();
  const pki = await loadOrCreatePki({ directory: join(api.dataDir, "pki"), now });
  const node = issueClientCertificate(pki, {
    commonName: "system:node:n1",
    organizations: ["system:nodes"],
    now,
  });
  const access = { server: new URL(api.url), tls: { ca: pki.authority.cert, ...node } };
  const client = createClient({ transport: createHttpTransport({ access }) });
  const pods = new Map<string, Pod>();
  const metrics = createMetrics();
  const asked: string[] = [];
  const log: string[] = [];
  const logsDir = overrides.logsDir ?? join(home, "logs");
  const pulls = createPulls();
  const budgets: KubeletServerFixture["budgets"] = new Map();
  const advice: KubeletServerFixture["advice"] = new Map();
  const server = await startKubeletServer({
    listen: { host: "127.0.0.1", port: 0 },
    nodeName: "n1",
    clientCa: pki.authority.cert,
    client: {
      request: (method, path, options) => {
        asked.push(path);
        return client.request(method, path, options);
      },
    },
    pods: { find: (namespace, name) => pods.get(`${namespace}/${name}`), list: () => pods.values() },
    cri: { runtime: noRuntime },
    progress: pulls,
    probes: {
      startupBudget: (id) => budgets.get(id),
      startupAdvice: (_namespace, { name }) => advice.get(name),
    },
    metrics,
    health: {},
    systemLogs: undefined,
    config: () => ({ maxPods: 110 }),
    clock: systemClock,
    logger: createLogger({
      format: "json",
      level: "trace",
      destination: { write: (line) => log.push(line) },
    }),
    ...overrides,
    logs: {
      root: logsDir,
      directoryName: ({ metadata }) => `${metadata.namespace}_${metadata.name}_${metadata.uid}`,
    },
  });
  await registerNode(api, server.port);
  const url = `https://127.0.0.1:${server.port}`;
  const clients: ApiClient[] = [];
  return {
    api,
    pki,
    url,
    logsDir,
    metrics,
    pods,
    pulls,
    budgets,
    advice,
    asked,
    log,
    as(commonName, ...organizations) {
      const pair = commonName ? issueClientCertificate(pki, { commonName, organizations, now }) : {};
      // The kubelet's certificate signs itself.
      const kubelet = createApiClient(url, { ca: pki.authority.cert, rejectUnauthorized: false, ...pair });
      clients.push(kubelet);
      return kubelet;
    },
    async close() {
      for (const each of clients) each.disconnect();
      await server.close();
      client.close();
      await api.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** The node as its kubelet would write it, so that the API server finds the way. */
async function registerNode(api: TestServer, port: number): Promise<void> {
  const node = await api.json("POST", "/api/v1/nodes", { metadata: { name: "n1" } });
  await api.json("PUT", "/api/v1/nodes/n1/status", {
    ...node,
    status: {
      addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    },
  });
}

function createPulls() {
  let wake: () => void = () => {};
  const pulls = {
    now: [] as readonly ContainerPull[],
    changed: () => wake(),
    progress: () => pulls.now,
    async *followProgress(_uid: string, signal: AbortSignal) {
      signal.addEventListener("abort", () => wake());
      while (!signal.aborted) {
        const { now } = pulls;
        yield now;
        // They may have changed while the reader had these.
        if (pulls.now !== now) continue;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
  return pulls;
}
