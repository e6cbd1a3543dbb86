// Measures pods per second from pending to bound, through the API server: npm run bench -- scheduler [--nodes N] [--pods N]
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Node, Pod } from "../src/api/meta/objects.ts";
import type { Client } from "../src/client/api/client.ts";
import { connectCluster } from "../src/client/api/create-client.ts";
import { createInformer } from "../src/client/informers/informer.ts";
import { systemClock } from "../src/lib/clock.ts";
import { silentLogger } from "../src/lib/logger.ts";
import { createScheduler } from "../src/scheduler/scheduler.ts";
import { startChildServer } from "./support/child-server.ts";
import { median } from "./support/median.ts";
import { printTable } from "./support/print-table.ts";

const { values: args } = parseArgs({
  options: {
    nodes: { type: "string", default: "1000" },
    pods: { type: "string", default: "5000" },
    /** Store of the API server. */
    store: { type: "string", default: "lmdb" },
  },
});
const nodeCount = Number(args.nodes);
const podCount = Number(args.pods);
const namespace = "default";
const zones = ["a", "b", "c"];

const folder = await mkdtemp(join(tmpdir(), "kindling-bench-"));
const server = await startChildServer("dist/kindling.js", [
  "apiserver",
  ...["--data-dir", folder, "--listen", "127.0.0.1:0", "--store", args.store, "--log-level", "warn"],
]);
const client = await connectCluster({ kubeconfig: join(folder, "kubeconfig") });
try {
  await run();
} finally {
  client.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}

async function run(): Promise<void> {
  await inParallel(nodeCount, (i) => client.create("nodes", makeNode(i)));
  await inParallel(podCount, (i) => client.create("pods", makePod(`burst-${i}`)));

  const bound = countBound(client);
  await bound.informer.synced;
  const stop = new AbortController();
  const startedAt = performance.now();
  const running = createScheduler({ client, clock: systemClock, logger: silentLogger }).run(stop.signal);
  await bound.until(podCount);
  const seconds = (performance.now() - startedAt) / 1_000;

  const latencies: number[] = [];
  for (let i = 0; i < 50; i++) {
    const createdAt = performance.now();
    await client.create("pods", makePod(`single-${i}`));
    await bound.until(podCount + i + 1);
    latencies.push(performance.now() - createdAt);
  }
  stop.abort();
  await running;
  await bound.stop();
  printTable(
    [`${nodeCount} nodes, ${podCount} pending pods`, "measured", "wanted"],
    [
      ["pods a second, from the scheduler's start", (podCount / seconds).toFixed(0), "500 or more"],
      ["one pod alone, create to bound, median ms", median(latencies).toFixed(1), "a few"],
    ],
  );
}

function countBound(from: Client) {
  const stop = new AbortController();
  const informer = createInformer({
    client: from,
    resource: "pods",
    fieldSelector: "spec.nodeName!=",
    clock: systemClock,
    logger: silentLogger,
  });
  let count = 0;
  let waiting: { wanted: number; resolve(): void } | undefined;
  informer.onChange(({ kind }) => {
    if (kind === "added") count++;
    if (waiting && count >= waiting.wanted) waiting.resolve();
  });
  const running = informer.run(stop.signal);
  return {
    informer,
    until: (wanted: number) =>
      new Promise<void>((resolve) => {
        if (count >= wanted) resolve();
        else waiting = { wanted, resolve };
      }),
    stop() {
      stop.abort();
      return running;
    },
  };
}

async function inParallel(count: number, act: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const work = async () => {
    while (next < count) await act(next++);
  };
  await Promise.all(Array.from({ length: 64 }, work));
}

function makeNode(i: number): Node {
  const name = `node-${i}`;
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": zones[i % zones.length] ?? "",
      },
    },
    status: { allocatable: { cpu: "8", memory: "32Gi", "ephemeral-storage": "100Gi", pods: "110" } },
  };
}

function makePod(name: string): Pod {
  const resources = { requests: { cpu: "100m", memory: "128Mi" } };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels: { app: "bench" } },
    spec: { containers: [{ name: "main", image: "registry.example/app:1", resources }] },
  };
}
