// Measures the time from an observed pod to a ready pod, and the cost of an idle kubelet:
// npm run bench -- kubelet [--rounds 9] [--many 40] [--idle-seconds 60] [--upstream-kubelet PATH] [--program FILE] [--beside FILE]
// Requires root, runc, conmon, busybox-static, containerd for the comparison, and `npm run build`. Each kubelet, each runtime and
// the API server is a separate process.
import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Pod } from "../src/api/meta/objects.ts";
import { connectCluster } from "../src/client/api/create-client.ts";
import { silentLogger } from "../src/lib/logger.ts";
import { startSimulatedRuntime } from "../src/simulated/start-simulated-runtime.ts";
import { hasTool } from "../test/support/programs/tools.ts";
import { startKubelet, startUpstreamKubelet } from "./support/bench-kubelet.ts";
import type { MeasuredProcess } from "./support/child-process.ts";
import { startChildServer } from "./support/child-server.ts";
import { type CriContestant, startContainerd, startKindling } from "./support/cri-contestant.ts";
import { sleeperImage, writeSleeperArchive } from "./support/image-archive.ts";
import { median } from "./support/median.ts";
import { watchPods } from "./support/pod-watch.ts";
import { printTable } from "./support/print-table.ts";

const { values: args } = parseArgs({
  options: {
    rounds: { type: "string", default: "9" },
    many: { type: "string", default: "40" },
    "idle-seconds": { type: "string", default: "60" },
    "upstream-kubelet": { type: "string" },
    program: { type: "string", default: "dist/kindling.js" },
    /** Another build to compare with in the same run. */
    beside: { type: "string" },
    /** Runs only contestants whose name contains this text. */
    only: { type: "string", default: "" },
  },
});
const rounds = Number(args.rounds);
const many = Number(args.many);
const idleSeconds = Number(args["idle-seconds"]);
const program = resolve(args.program);
const bursts = 3;
const idlePods = 100;
/** Exits on SIGTERM: a process that ends only when it is killed would delay the next measurement. */
const sleepUntilTerm = "trap 'exit 0' TERM; while :; do /bin/busybox sleep 1000 & wait $!; done";

interface Contestant {
  readonly name: string;
  readonly node: string;
  readonly runtime: CriContestant;
  readonly kubelet: MeasuredProcess;
  /** Targets for one pod and for many. */
  readonly asked: readonly [string, string];
}

const folder = await mkdtemp(join(tmpdir(), "kdl-bench-"));
const archives = [writeSleeperArchive(folder)];
const server = await startChildServer(program, [
  "apiserver",
  ...["--data-dir", join(folder, "api"), "--listen", "127.0.0.1:0", "--log-level", "warn"],
]);
const kubeconfig = join(folder, "api", "kubeconfig");
const client = await connectCluster({ kubeconfig });
const pods = await watchPods(client);
const contestants: Contestant[] = [];
try {
  await addContestants();
  console.log(
    `load average before: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(" ")}`,
  );
  await compareStarts();
  for (const { kubelet, runtime } of contestants.splice(0)) {
    await kubelet.stop();
    await runtime.stop();
  }
  if (idleSeconds > 0) await measureIdle();
} finally {
  for (const { kubelet, runtime } of contestants) {
    await kubelet.stop();
    await runtime.stop();
  }
  await pods.stop();
  client.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

async function addContestants(): Promise<void> {
  const ours = ["150 ms", "3.3 s"] as const;
  const theirs = ["284 ms", "10 s"] as const;
  const own = (network: string, from?: string) => (at: string) =>
    startKindling(at, archives, { network, program: from ?? program });
  await add("our runtime, own bridge", { start: own("bridge"), asked: ours });
  const { beside } = args;
  if (beside)
    await add(`${beside}, own bridge`, { start: own("bridge", beside), asked: ours, kindling: beside });
  await add("our runtime, CNI", { start: own("cni"), asked: ours });
  for (const tool of ["containerd", "containerd-2"] as const) {
    const start = (at: string) => startContainerd(at, archives, tool);
    if (hasTool(tool)) await add(tool, { start, asked: theirs });
    if (hasTool(tool) && beside) await add(`${beside}, ${tool}`, { start, asked: theirs, kindling: beside });
    const upstream = args["upstream-kubelet"];
    if (hasTool(tool) && upstream)
      await add(`upstream's kubelet, ${tool}`, { start, asked: ["", ""], upstream });
  }
}

async function add(
  name: string,
  options: {
    start(folder: string): Promise<CriContestant>;
    asked: Contestant["asked"];
    /** Upstream's kubelet instead of Kindling's. */
    upstream?: string;
    /** Another build of Kindling. */
    kindling?: string;
  },
): Promise<void> {
  if (!name.includes(args.only)) return;
  const node = `node-${contestants.length + 1}`;
  const runtime = await options.start(join(folder, node));
  const kubeletOptions = {
    nodeName: node,
    folder: join(folder, `${node}-kubelet`),
    kubeconfig,
    endpoint: runtime.endpoint,
  };
  const kubelet = options.upstream
    ? await startUpstreamKubelet({ ...kubeletOptions, program: options.upstream })
    : await startKubelet({ ...kubeletOptions, program: resolve(options.kindling ?? program) });
  contestants.push({ name, node, runtime, kubelet, asked: options.asked });
}

async function compareStarts(): Promise<void> {
  const single = new Map(contestants.map(({ name }) => [name, [] as number[]]));
  const together = new Map(contestants.map(({ name }) => [name, [] as Burst[]]));
  // One additional pod first: it creates everything that is created once, and waits for the node.
  for (let round = 0; round <= rounds; round++) {
    for (const { name, node } of contestants) {
      const pod = `one-${node}-${round}`;
      await client.create("pods", makePod(pod, node));
      const ms = await pods.untilReady(pod);
      if (round > 0) single.get(name)?.push(ms);
      await remove([pod]);
    }
  }
  for (let round = 0; round < bursts; round++) {
    for (const contestant of contestants) {
      together.get(contestant.name)?.push(await startMany(contestant, `many-${round}`));
    }
  }
  printTable(
    [
      "seen to Ready, image present",
      `one pod, median of ${rounds}`,
      "fastest",
      "asked",
      `${many} at once, median of ${bursts}`,
      "asked",
      "kubelet's CPU a pod",
    ],
    contestants.map(({ name, asked }) => [
      name,
      `${median(single.get(name) ?? []).toFixed(0)} ms`,
      `${Math.min(...(single.get(name) ?? [])).toFixed(0)} ms`,
      asked[0],
      `${median((together.get(name) ?? []).map(({ seconds }) => seconds)).toFixed(1)} s`,
      asked[1],
      `${median((together.get(name) ?? []).map(({ kubeletMs }) => kubeletMs)).toFixed(0)} ms`,
    ]),
  );
}

interface Burst {
  readonly seconds: number;
  /** CPU time of the kubelet per pod. */
  readonly kubeletMs: number;
}

async function startMany({ node, kubelet }: Contestant, prefix: string): Promise<Burst> {
  const names = Array.from({ length: many }, (_, i) => `${prefix}-${node}-${i}`);
  const startedAt = performance.now();
  const cpuBefore = kubelet.cpuSeconds();
  await Promise.all(names.map((pod) => client.create("pods", makePod(pod, node))));
  await Promise.all(names.map((pod) => pods.untilReady(pod)));
  const seconds = (performance.now() - startedAt) / 1_000;
  const kubeletMs = ((kubelet.cpuSeconds() - cpuBefore) * 1_000) / many;
  await remove(names);
  return { seconds, kubeletMs };
}

async function measureIdle(): Promise<void> {
  const endpoint = `unix://${join(folder, "simulated.sock")}`;
  const runtime = await startSimulatedRuntime({
    listen: endpoint,
    logger: silentLogger,
    imagesPresent: true,
  });
  const kubelet = await startKubelet({
    ...{ program, nodeName: "idle", folder: join(folder, "idle"), kubeconfig, endpoint },
  });
  try {
    const names = Array.from({ length: idlePods }, (_, i) => `idle-${i}`);
    await Promise.all(names.map((pod) => client.create("pods", makePod(pod, "idle"))));
    await Promise.all(names.map((pod) => pods.untilReady(pod)));
    await delay(10_000);
    const before = kubelet.cpuSeconds();
    await delay(idleSeconds * 1_000);
    const percent = ((kubelet.cpuSeconds() - before) / idleSeconds) * 100;
    printTable(
      [`idle, ${idlePods} simulated pods, ${idleSeconds} s`, "measured", "asked"],
      [
        ["of a core", `${percent.toFixed(2)} %`, "under 1 %"],
        ["memory (RSS)", `${kubelet.residentMegabytes().toFixed(0)} MB`, "under 80 MB"],
      ],
    );
    await remove(names);
  } finally {
    await kubelet.stop();
    await runtime.close();
  }
}

async function remove(names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => client.delete("pods", { namespace: "default", name })));
  await Promise.all(names.map((name) => pods.untilGone(name)));
}

/** Minimal pod. It has a token volume and the cluster's DNS, as every real pod does. */
function makePod(name: string, nodeName: string): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: {
      nodeName,
      containers: [{ name: "main", image: sleeperImage, args: ["sh", "-c", sleepUntilTerm] }],
    },
  };
}
