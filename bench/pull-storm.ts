// The worst case of KEP-3542: 5,000 nodes pull 300,000 images at once and tell of it (clause 3542-11).
// npm run bench -- pull-storm [--nodes 5000] [--pulls-per-node 60] [--seconds 60] [--only node|cluster]
// `npm run build` first. The API server is a process of its own; the nodes' image pullers and event recorders are the
// kubelet's own code, all in this process; one kubelet as a process of its own shows what a node pays.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Client } from "../src/client/client.ts";
import { loadKubeconfig } from "../src/client/cluster-access.ts";
import { createClient } from "../src/client/create-client.ts";
import { createHttpTransport } from "../src/client/http-transport.ts";
import { type ChildServer, startChildServer } from "./support/child-server.ts";
import { median } from "./support/median.ts";
import { printTable } from "./support/print-table.ts";
import { startPullStorm } from "./support/pull-storm.ts";
import { measurePullingKubelet } from "./support/pulling-kubelet.ts";

const { values: args } = parseArgs({
  options: {
    nodes: { type: "string", default: "5000" },
    "pulls-per-node": { type: "string", default: "60" },
    seconds: { type: "string", default: "60" },
    /** `node` or `cluster`; both unless told. */
    only: { type: "string", default: "" },
  },
});
const nodes = Number(args.nodes);
const pullsPerNode = Number(args["pulls-per-node"]);
const seconds = Number(args.seconds);

/** One that others look at and change meanwhile. */
const probedPod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "probed", namespace: "default" },
  spec: { nodeName: "elsewhere", containers: [{ name: "c", image: "app:1" }] },
};

const folder = await mkdtemp(join(tmpdir(), "kdl-storm-"));
try {
  if (args.only !== "cluster") await withServer("node", measureNode);
  const rows = [];
  for (const withProgress of args.only === "node" ? [] : [false, true])
    rows.push(
      await withServer(`cluster-${withProgress}`, (server, client) =>
        measureCluster(withProgress, server, client),
      ),
    );
  console.log(
    `\n${nodes} nodes with ${pullsPerNode} pulls each, ${seconds} s after the first events are in\n`,
  );
  printTable(
    [
      "the API server",
      "of a core",
      "MB",
      "progress events/s",
      "dropped",
      "get ms, median",
      "p99",
      "status patch ms, median",
      "p99",
    ],
    rows,
  );
} finally {
  await rm(folder, { recursive: true, force: true });
}

type Measure<T> = (server: ChildServer, client: Client, kubeconfig: string) => Promise<T>;

async function withServer<T>(name: string, measure: Measure<T>): Promise<T> {
  const dataDir = join(folder, name);
  const server = await startChildServer("dist/kindling.js", [
    "apiserver",
    ...["--data-dir", dataDir, "--listen", "127.0.0.1:0", "--log-level", "error"],
  ]);
  const kubeconfig = join(dataDir, "kubeconfig");
  const access = await loadKubeconfig(kubeconfig);
  const client = createClient({ transport: createHttpTransport({ access, maxConnections: 256 }) });
  try {
    return await measure(server, client, kubeconfig);
  } finally {
    client.close();
    await server.stop();
  }
}

async function measureNode(_server: ChildServer, client: Client, kubeconfig: string): Promise<void> {
  const rows = [];
  for (const withProgress of [false, true]) {
    const pulls = pullsPerNode;
    const cost = await measurePullingKubelet({ client, kubeconfig, folder, pulls, seconds, withProgress });
    rows.push([
      withProgress ? "with progress" : "without",
      `${cost.idle.percent.toFixed(1)} %`,
      `${cost.pulling.percent.toFixed(1)} %`,
      cost.pulling.megabytes.toFixed(0),
      String(cost.told),
    ]);
  }
  console.log(`A kubelet that pulls ${pullsPerNode} images at once, each reported every second\n`);
  printTable(["the kubelet", "idle, of a core", "pulling", "MB", "progress events"], rows);
}

async function measureCluster(withProgress: boolean, server: ChildServer, client: Client): Promise<string[]> {
  await client.create("pods", probedPod);
  const storm = startPullStorm({ client, nodes, pullsPerNode, withProgress });
  await delay(5_000);
  await storm.settled();
  const before = { cpu: server.cpuSeconds(), ...storm.counts() };
  const startedAt = performance.now();
  const { gets, patches } = await probe(client, seconds * 1_000);
  const took = (performance.now() - startedAt) / 1_000;
  const after = storm.counts();
  const percent = ((server.cpuSeconds() - before.cpu) / took) * 100;
  await storm.stop();
  return [
    withProgress ? "with progress" : "without",
    `${percent.toFixed(0)} %`,
    server.residentMegabytes().toFixed(0),
    ((after.progress - before.progress) / took).toFixed(0),
    String(after.dropped),
    ...[gets, patches].flatMap((times) => [median(times).toFixed(1), quantile(times, 0.99).toFixed(1)]),
  ];
}

/** What others see meanwhile. */
async function probe(client: Client, ms: number) {
  const [gets, patches]: [number[], number[]] = [[], []];
  const key = { namespace: "default", name: "probed" };
  for (const endAt = performance.now() + ms; performance.now() < endAt; await delay(100)) {
    gets.push(await timed(() => client.get("pods", key)));
    const body = { status: { message: String(gets.length) } };
    const patch = { kind: "strategic", body } as const;
    patches.push(await timed(() => client.patch("pods", key, { patch, subresource: "status" })));
  }
  return { gets, patches };
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await run();
  return performance.now() - startedAt;
}

function quantile(values: readonly number[], q: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * q)] ?? Number.NaN;
}
