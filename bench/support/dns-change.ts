import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decode, encode } from "dns-packet";
import { defaultFeatures } from "../../src/api/meta/feature-gates.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { startControlPlane } from "../../src/cluster/parts/control-plane.ts";
import { startDnsServer } from "../../src/dns/dns-server.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createMetrics } from "../../src/lib/metrics/metrics.ts";

const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

/** Times in milliseconds from writes of a headless service's endpoints to the first response with the new address. */
export async function measureChanges(rounds: number): Promise<number[]> {
  const dataDir = await mkdtemp(join(tmpdir(), "kindling-bench-dns-"));
  const controlPlane = await startControlPlane({
    dataDir,
    store: { kind: "memory" },
    listen: { host: "127.0.0.1", port: 0 },
    features: defaultFeatures,
    logger: silentLogger,
  });
  const client = await connectCluster({ kubeconfig: controlPlane.kubeconfig, userAgent: "kindling-bench" });
  const server = await startDnsServer({
    client,
    clock: systemClock,
    logger: silentLogger,
    metrics: createMetrics(),
    clusterDomain: "cluster.local",
    listen: { host: "127.0.0.1", port: 0 },
    resolvers: { current: async () => [] },
  });
  const socket = createSocket("udp4");
  try {
    await server.synced;
    socket.connect(server.port, "127.0.0.1");
    await once(socket, "connect");
    const spec = { clusterIP: "None", ports: [{ name: "http", port: 80 }] };
    await client.request("POST", "/api/v1/namespaces/default/services", {
      body: { apiVersion: "v1", kind: "Service", metadata: { name: "db" }, spec },
    });
    await client.request("POST", slices, { body: makeSlice("10.0.0.0") });
    const latencies: number[] = [];
    for (let round = 1; round <= rounds; round++) {
      const address = `10.0.${round >> 8}.${round & 255}`;
      const startedAt = performance.now();
      const written = client.request("PUT", `${slices}/db`, { body: makeSlice(address) });
      while ((await resolveName(socket)) !== address);
      latencies.push(performance.now() - startedAt);
      await written;
    }
    return latencies;
  } finally {
    socket.close();
    await server.close();
    client.close();
    await controlPlane.close();
    await rm(dataDir, { recursive: true, force: true });
  }
}

function makeSlice(address: string) {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "db", labels: { "kubernetes.io/service-name": "db" } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 80, protocol: "TCP" }],
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
  };
}

async function resolveName(socket: ReturnType<typeof createSocket>): Promise<unknown> {
  const questions = [{ name: "db.default.svc.cluster.local", type: "A" as const }];
  const received = once(socket, "message", { signal: AbortSignal.timeout(5_000) });
  socket.send(encode({ type: "query", id: 1, flags: 0x100, questions }));
  const [answer] = decode((await received)[0]).answers ?? [];
  return answer && "data" in answer ? answer.data : undefined;
}
