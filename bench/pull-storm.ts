// Clauses: 3542-11
// The worst case of KEP-3542: 5,000 nodes pull 300,000 images at once and report progress (clause 3542-11).
// npm run bench -- pull-storm [--nodes 5000] [--pulls-per-node 60] [--seconds 30] [--only node|cluster]
//   [--processes 1] [--connections 256] [--report-seconds 30] [--settle-seconds 150]
// Requires `npm run build`. The API server and the nodes are separate processes. A node consists of the kubelet's image pullers and
// event recorders on runtimes that only count. One complete kubelet shows the cost for a node.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Client } from "../src/client/api/client.ts";
import { createClient } from "../src/client/api/create-client.ts";
import { loadKubeconfig } from "../src/client/kubeconfig/cluster-access.ts";
import { createHttpTransport } from "../src/client/transport/http-transport.ts";
import { type ChildServer, startChildServer } from "./support/child-server.ts";
import { median } from "./support/median.ts";
import { printTable } from "./support/print-table.ts";
import { playNodes, type RunningStorm, startPullStorm } from "./support/pull-storm.ts";
import { measurePullingKubelet } from "./support/pulling-kubelet.ts";

const { values: args } = parseArgs({
  options: {
    nodes: { type: "string", default: "5000" },
    "pulls-per-node": { type: "string", default: "60" },
    seconds: { type: "string", default: "30" },
    /** `node` or `cluster`; default: both. */
    only: { type: "string", default: "" },
    /** Number of processes that simulate nodes. */
    processes: { type: "string", default: "1" },
    /** Connections shared by the nodes of a process. A real node has its own. */
    connections: { type: "string", default: "256" },
    /** Interval between reports of a pull. Real runtimes report each second, so that a node always has one to publish. */
    "report-seconds": { type: "string", default: "30" },
    /** Maximum time for writing the first event of every pull. */
    "settle-seconds": { type: "string", default: "150" },
    /** Runs this program as a process that simulates nodes. */
    play: { type: "string", default: "" },
  },
});
const nodes = Number(args.nodes);
const pullsPerNode = Number(args["pulls-per-node"]);
const seconds = Number(args.seconds);

/** Measured periods: the first report of a pull is published after 30 s, then nodes adapt their rate to the server. */
const [firstReportSeconds, paceSeconds] = [40, 20];
/** Pod that other clients read and update during the measurement. */
const probedPod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "probed", namespace: "default" },
  spec: { nodeName: "elsewhere", containers: [{ name: "c", image: "app:1" }] },
};

if (args.play) await playNodes(args.play);
else await measureAll();

async function measureAll(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "kdl-storm-"));
  try {
    if (args.only !== "cluster") await withServer(join(folder, "node"), measureNode);
    if (args.only !== "node") await withServer(join(folder, "cluster"), measureCluster);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Measured {
  readonly server: ChildServer;
  readonly client: Client;
  readonly dataDir: string;
  readonly kubeconfig: string;
}

async function withServer(dataDir: string, measure: (measured: Measured) => Promise<void>): Promise<void> {
  const server = await startChildServer("dist/kindling.js", [
    "apiserver",
    ...["--data-dir", dataDir, "--listen", "127.0.0.1:0", "--log-level", "error"],
  ]);
  const kubeconfig = join(dataDir, "kubeconfig");
  const access = await loadKubeconfig(kubeconfig);
  const client = createClient({ transport: createHttpTransport({ access }) });
  try {
    await measure({ server, client, dataDir, kubeconfig });
  } finally {
    client.close();
    await server.stop();
  }
}

async function measureNode({ client, kubeconfig, dataDir }: Measured): Promise<void> {
  const rows = [];
  const pulls = pullsPerNode;
  for (const withProgress of [false, true]) {
    const folder = dataDir;
    const cost = await measurePullingKubelet({ client, kubeconfig, folder, pulls, seconds, withProgress });
    rows.push([
      withProgress ? "with progress" : "without",
      `${cost.idle.percent.toFixed(1)} %`,
      `${cost.pulling.percent.toFixed(1)} %`,
      cost.pulling.megabytes.toFixed(0),
      String(cost.reported),
    ]);
  }
  console.log(`A kubelet that pulls ${pullsPerNode} images at once, each reported every second\n`);
  printTable(["the kubelet", "idle, of a core", "pulling", "MB", "progress events"], rows);
}

/** Measures one server with the same events twice: while the runtimes report nothing, then while they report. */
async function measureCluster({ server, client, kubeconfig }: Measured): Promise<void> {
  await client.create("pods", probedPod);
  const storm = startPullStorm(fileURLToPath(import.meta.url), {
    kubeconfig,
    nodes,
    pullsPerNode,
    reportSeconds: Number(args["report-seconds"]),
    processes: Number(args.processes),
    connections: Number(args.connections),
  });
  try {
    await writeFirstEvents(storm, server);
    const rows = [await measureWhile("without progress", { storm, server, client })];
    storm.report();
    await tellSteadily(storm);
    rows.push(await measureWhile("with progress", { storm, server, client }));
    const players = `${args.processes} process${args.processes === "1" ? "" : "es"}`;
    console.log(
      `\n${nodes} nodes with ${pullsPerNode} pulls each, in ${players} with ${args.connections} connections each, for ${seconds} s\n`,
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
        "the nodes, of a core",
        "MB",
      ],
      rows,
    );
  } finally {
    await storm.stop();
  }
}

/** `Pulling image "X"`, once for each pull. */
async function writeFirstEvents(storm: RunningStorm, server: ChildServer): Promise<void> {
  const all = nodes * pullsPerNode;
  const startedAt = performance.now();
  const before = { server: server.cpuSeconds(), nodes: storm.cpuSeconds() };
  const took = () => (performance.now() - startedAt) / 1_000;
  while (storm.counts().written < all && took() < Number(args["settle-seconds"])) await delay(200);
  const { written } = storm.counts();
  const spent = (now: number, then: number) => `${(now - then).toFixed(1)} s`;
  console.log(
    `${written} of ${all} first events are written after ${spent(took(), 0)}; processor time: the API server ${spent(server.cpuSeconds(), before.server)}, the nodes ${spent(storm.cpuSeconds(), before.nodes)}`,
  );
  if (written < all) console.log("the remaining events are written during the following measurement");
}

async function tellSteadily(storm: RunningStorm): Promise<void> {
  const endAt = performance.now() + 1_000 * firstReportSeconds;
  while (storm.counts().progress === 0 && performance.now() < endAt) await delay(200);
  await delay(1_000 * paceSeconds);
}

async function measureWhile(
  what: string,
  { storm, server, client }: Pick<Measured, "server" | "client"> & { readonly storm: RunningStorm },
): Promise<string[]> {
  const look = () => ({ server: server.cpuSeconds(), nodes: storm.cpuSeconds(), ...storm.counts() });
  const before = look();
  const startedAt = performance.now();
  const { gets, patches } = await probe(client, seconds * 1_000);
  const took = (performance.now() - startedAt) / 1_000;
  const after = look();
  const share = (cpuSeconds: number) => `${((100 * cpuSeconds) / took).toFixed(0)} %`;
  return [
    what,
    share(after.server - before.server),
    server.residentMegabytes().toFixed(0),
    ((after.progress - before.progress) / took).toFixed(0),
    String(after.dropped),
    ...[gets, patches].flatMap((times) => [median(times).toFixed(1), quantile(times, 0.99).toFixed(1)]),
    share(after.nodes - before.nodes),
    storm.residentMegabytes().toFixed(0),
  ];
}

/** Latencies of other clients during the measurement. */
async function probe(client: Client, ms: number) {
  const [gets, patches]: [number[], number[]] = [[], []];
  const key = { namespace: "default", name: "probed" };
  for (const endAt = performance.now() + ms; performance.now() < endAt; await delay(50)) {
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
