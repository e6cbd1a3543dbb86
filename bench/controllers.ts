// Measures the cost of the controllers: npm run bench -- controllers [--pods 10000]. The API server is a separate process with a
// store on disk.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { defaultFeatures } from "../src/api/meta/feature-gates.ts";
import type { StatefulSet } from "../src/api/meta/objects.ts";
import type { Client } from "../src/client/api/client.ts";
import { connectCluster } from "../src/client/api/create-client.ts";
import { runControllers } from "../src/controllers/controller-manager.ts";
import { systemClock } from "../src/lib/clock.ts";
import { silentLogger } from "../src/lib/logger.ts";
import { startChildServer } from "./support/child-server.ts";
import { formatNumber } from "./support/comparison.ts";
import { printTable } from "./support/print-table.ts";

const { values: args } = parseArgs({ options: { pods: { type: "string", default: "10000" } } });
const pods = Number(args.pods);
const key = { namespace: "default", name: "many" };

const folder = await mkdtemp(join(tmpdir(), "kindling-bench-"));
const server = await startChildServer("dist/kindling.js", [
  "apiserver",
  ...["--data-dir", folder, "--listen", "127.0.0.1:0", "--log-level", "warn"],
]);
const kubeconfig = join(folder, "kubeconfig");
const client = await connectCluster({ kubeconfig });
const stopping = new AbortController();
const counted = countWrites(await connectCluster({ kubeconfig }));
const running = runControllers(
  { client: counted.client, clock: systemClock, logger: silentLogger, features: defaultFeatures },
  stopping.signal,
);
try {
  await run();
} finally {
  stopping.abort();
  await running;
  counted.client.close();
  client.close();
  await server.stop();
  await rm(folder, { recursive: true });
}

async function run(): Promise<void> {
  await delay(1_000);
  const creating = process.cpuUsage();
  const began = performance.now();
  await client.create("statefulsets", manyPods());
  await until(({ status }) => status?.replicas === pods);
  const seconds = (performance.now() - began) / 1_000;
  const creatingMs = milliseconds(process.cpuUsage(creating));

  // A set that only gets an annotation is synced without actions.
  await delay(3_000);
  const writesBefore = counted.writes();
  const before = process.cpuUsage();
  const looks = 20;
  for (let i = 0; i < looks; i++) {
    const body = { metadata: { annotations: { look: String(i) } } };
    await client.patch("statefulsets", key, { patch: { kind: "merge", body } });
    await delay(100);
  }
  const lookingMs = milliseconds(process.cpuUsage(before));
  printTable(
    ["", ""],
    [
      [`pods created a second, ${formatNumber(pods)} side by side`, formatNumber(pods / seconds)],
      ["ms of the controllers' processor for each", formatNumber(creatingMs / pods)],
      ["writes for a look with nothing to do", formatNumber((counted.writes() - writesBefore) / looks)],
      ["ms of processor for it, with the test's own call", formatNumber(lookingMs / looks)],
      ["MB resident, with what the informers hold", formatNumber(process.memoryUsage().rss / 1e6)],
    ],
  );
}

function milliseconds({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1_000;
}

async function until(is: (set: StatefulSet) => boolean): Promise<void> {
  while (!is(await client.get("statefulsets", key))) await delay(20);
}

function countWrites(real: Client): { client: Client; writes(): number } {
  let writes = 0;
  const counting =
    <Call extends unknown[], Answer>(write: (...call: Call) => Answer) =>
    (...call: Call): Answer => {
      writes++;
      return write(...call);
    };
  const { create, update, patch, delete: remove } = real;
  return {
    writes: () => writes,
    client: {
      ...real,
      create: counting(create) as Client["create"],
      update: counting(update) as Client["update"],
      patch: counting(patch) as Client["patch"],
      delete: counting(remove) as Client["delete"],
    },
  };
}

function manyPods(): StatefulSet {
  const labels = { app: key.name };
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: key,
    spec: {
      replicas: pods,
      podManagementPolicy: "Parallel",
      serviceName: key.name,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [{ name: "c", image: "registry.example/web:1" }],
          automountServiceAccountToken: false,
        },
      },
    },
  };
}
