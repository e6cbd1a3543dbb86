// Clauses: 3542-14
// CPU and memory of `kindling node-agent` while containerd pulls: 20 images of 10 layers at once.
// npm run bench -- node-agent [--pulls 20] [--layers 10] [--seconds 60] [--tool containerd-2]
// Requires `npm run build`. API server, containerd and agent are separate processes; the registry is in this one.
import { spawn } from "node:child_process";
import { setMaxListeners } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { connectCluster } from "../src/client/api/create-client.ts";
import { createEventRecorder } from "../src/client/events/event-recorder.ts";
import { PullImageRequest } from "../src/cri/generated/cri.ts";
import { systemClock } from "../src/lib/clock.ts";
import { silentLogger } from "../src/lib/logger.ts";
import { makePod } from "../test/support/manifests/pod.ts";
import { costOf } from "./support/child-process.ts";
import { startChildServer } from "./support/child-server.ts";
import { startContainerd } from "./support/cri-contestant.ts";
import { printTable } from "./support/print-table.ts";
import { startThrottledRegistry } from "./support/throttled-registry.ts";

const { values: args } = parseArgs({
  options: {
    pulls: { type: "string", default: "20" },
    layers: { type: "string", default: "10" },
    seconds: { type: "string", default: "60" },
    tool: { type: "string", default: "containerd-2" },
  },
});
const pulls = Number(args.pulls);
const seconds = Number(args.seconds);
const tool = args.tool === "containerd" ? "containerd" : "containerd-2";
const nodeName = "node-1";

const folder = await mkdtemp(join(tmpdir(), "kdl-agent-"));
const server = await startChildServer("dist/kindling.js", [
  "apiserver",
  ...["--data-dir", join(folder, "data"), "--listen", "127.0.0.1:0", "--log-level", "error"],
]);
const kubeconfig = join(folder, "data/kubeconfig");
const client = await connectCluster({ kubeconfig });
const containerd = await startContainerd(join(folder, "c"), [], tool);
// Layers of 4 MiB at 64 KiB a second: none of the pulls ends during the measurement.
const registry = await startThrottledRegistry({
  images: pulls,
  layers: Number(args.layers),
  layerBytes: 4 * 2 ** 20,
  bytesPerSecond: 64 * 1_024,
});
const agent = spawn(
  process.execPath,
  [
    ...["dist/kindling.js", "node-agent", "--kubeconfig", kubeconfig, "--node-name", nodeName],
    ...["--containerd-socket", containerd.endpoint, "--listen", "127.0.0.1:0", "--log-level", "warn"],
  ],
  { stdio: ["ignore", "pipe", "inherit"] },
);
await new Promise<void>((resolve, reject) => {
  createInterface({ input: agent.stdout }).once("line", () => resolve());
  agent.once("exit", (code) => reject(new Error(`the agent ended with ${code}`)));
});
const cost = costOf(agent.pid ?? 0);
const stop = new AbortController();
setMaxListeners(0, stop.signal);

async function measure(label: string): Promise<readonly string[]> {
  const before = cost.cpuSeconds();
  let maxMegabytes = 0;
  let maxPrivateMegabytes = 0;
  for (let second = 0; second < seconds; second++) {
    await delay(1_000);
    maxMegabytes = Math.max(maxMegabytes, cost.residentMegabytes());
    const rollup = readFileSync(`/proc/${agent.pid}/smaps_rollup`, "utf8");
    const anonymous = Number(/^Anonymous:\s+(\d+)/m.exec(rollup)?.[1]) / 1_024;
    maxPrivateMegabytes = Math.max(maxPrivateMegabytes, anonymous);
  }
  const cpu = (100 * (cost.cpuSeconds() - before)) / seconds;
  return [
    label,
    `${cpu.toFixed(2)} %`,
    `${Math.round(maxMegabytes)} MB`,
    `${Math.round(maxPrivateMegabytes)} MB`,
  ];
}

try {
  await delay(5_000);
  const idle = await measure("no pod is starting");
  const recorder = createEventRecorder({
    client,
    component: "kubelet",
    host: nodeName,
    clock: systemClock,
    logger: silentLogger,
  });
  const recording = recorder.run(stop.signal);
  const pulling = registry.images.map(async (image, i) => {
    const pod = await client.create(
      "pods",
      makePod(`pod-${i}`, { nodeName, containers: [{ name: "c", image }] }),
    );
    const fieldPath = "spec.containers{c}";
    recorder.record(pod, {
      type: "Normal",
      reason: "Pulling",
      message: `Pulling image "${image}"`,
      fieldPath,
    });
    const request = PullImageRequest.fromPartial({ image: { image } });
    await containerd.client.images
      .pullImage(request, { signal: stop.signal, timeoutMs: 3_600_000 })
      .catch(() => {});
  });
  await delay(20_000);
  const busy = await measure(`${pulls} pulls of ${args.layers} layers`);
  printTable(
    [`node-agent with ${tool}, ${seconds} s each`, "CPU of a core", "resident", "without the program"],
    [idle, busy],
  );
  const { items } = await client.list("events", { namespace: "default" });
  const progress = items.filter(({ message }) => message?.startsWith("Pulling Container image "));
  console.log(
    `${progress.length} progress events of ${new Set(progress.map((event) => event.involvedObject.name)).size} pods`,
  );
  stop.abort();
  await Promise.all([recording, ...pulling]);
} finally {
  stop.abort();
  agent.kill("SIGTERM");
  await containerd.stop();
  await registry.stop();
  client.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
