// The worst case of KEP-3542: 5,000 nodes pull 300,000 images at once and tell of it (clause 3542-11).
// npm run bench -- pull-storm [--nodes 5000] [--pulls-per-node 60] [--seconds 30] [--only node|cluster]
//   [--processes 1] [--connections 256] [--report-seconds 30] [--settle-seconds 150]
// `npm run build` first. The API server is a process of its own, and so are the nodes: the kubelet's own image pullers and
// event recorders, on runtimes that only count. One whole kubelet shows what a node pays.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Client } from "../src/client/client.ts";
import { loadKubeconfig } from "../src/client/cluster-access.ts";
import { createClient } from "../src/client/create-client.ts";
import { createHttpTransport } from "../src/client/http-transport.ts";
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
    /** `node` or `cluster`; both unless told. */
    only: { type: "string", default: "" },
    /** That play the nodes. */
    processes: { type: "string", default: "1" },
    /** That the nodes of a process share, where each real one has its own. */
    connections: { type: "string", default: "256" },
    /** How often a runtime reports of each pull, where real ones do so each second: a node has always one to tell of. */
    "report-seconds": { type: "string", default: "30" },
    /** How long the events that every pull begins with may take. */
    "settle-seconds": { type: "string", default: "150" },
    /** Plays nodes, for this same program. */
    play: { type: "string", default: "" },
  },
});
const nodes = Number(args.nodes);
const pullsPerNode = Number(args["pulls-per-node"]);
const seconds = Number(args.seconds);

/** A pull that has just begun is told of after 30; then nodes find the pace that suits the server. */
const [firstReportSeconds, paceSeconds] = [40, 20];
/** One that others look at and change meanwhile. */
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
      String(cost.told),
    ]);
  }
  console.log(`A kubelet that pulls ${pullsPerNode} images at once, each reported every second\n`);
  printTable(["the kubelet", "idle, of a core", "pulling", "MB", "progress events"], rows);
}

/** On one server with the same events in it: first while runtimes say nothing, then while they report. */
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
  if (written < all) console.log("the others are still being written while the rest is measured");
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

/** What others see meanwhile. */
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
