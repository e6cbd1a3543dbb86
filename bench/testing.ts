// Measures the cost of a cluster for a test: npm run bench -- testing [--starts 10]
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { startCluster, type TestCluster } from "../src/testing/start-cluster.ts";
import { median } from "./support/median.ts";
import { printTable } from "./support/print-table.ts";

const { values: args } = parseArgs({ options: { starts: { type: "string", default: "10" } } });
const starts = Number(args.starts);

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const loadedMb = residentMb();
const [first, ...later] = [await measureOne(), ...(await times(starts, measureOne))];
const closedMb = residentMb();
const cluster = await startCluster();
const oneMb = residentMb();
const advancing = await timed(() => cluster.clock.advance("10m"));
const others = await Promise.all(Array.from({ length: 9 }, () => startCluster()));
const tenMb = residentMb();
await Promise.all([cluster, ...others].map((each) => each.close()));

const ms = (of: keyof Measured) => [first?.[of] ?? 0, median(later.map((one) => one[of]))].map(Math.round);
printTable(
  ["ms", "the first", `median of ${starts}`],
  [
    ["start to a ready node", ...ms("startMs").map(String)],
    ["first pod created to Ready", ...ms("podMs").map(String)],
    ["close", ...ms("closeMs").map(String)],
  ],
);
console.log(`\nmoving the clock by 10 minutes takes ${Math.round(advancing.ms)} ms\n`);
printTable(
  ["MB resident", ""],
  [
    ["loaded, none started", String(loadedMb)],
    [`after ${starts + 1} were closed`, String(closedMb)],
    ["one", String(oneMb)],
    ["ten side by side", String(tenMb)],
  ],
);

interface Measured {
  readonly startMs: number;
  readonly podMs: number;
  readonly closeMs: number;
}

async function measureOne(): Promise<Measured> {
  const start = await timed(async () => {
    const started = await startCluster();
    await started.client.waitFor("nodes", "node-1", "Ready");
    return started;
  });
  const pod = await timed(() => runPod(start.value));
  const close = await timed(() => start.value.close());
  return { startMs: start.ms, podMs: pod.ms, closeMs: close.ms };
}

async function runPod({ client }: TestCluster): Promise<void> {
  const spec = { containers: [{ name: "c", image: "web:1" }] };
  await client.create("pods", { metadata: { name: "first" }, spec });
  await client.waitFor("pods", "first", "Ready");
}

async function timed<T>(act: () => Promise<T>): Promise<{ ms: number; value: T }> {
  const began = performance.now();
  const value = await act();
  return { ms: performance.now() - began, value };
}

async function times<T>(count: number, act: () => Promise<T>): Promise<T[]> {
  const all: T[] = [];
  for (let i = 0; i < count; i++) all.push(await act());
  return all;
}

function residentMb(): number {
  collectGarbage();
  return Math.round(process.memoryUsage.rss() / 1e6);
}
