// Measures the CPU time and the delay of the kubelet's probes: npm run bench -- probes [--probes 1000] [--seconds 10]
import { spawn } from "node:child_process";
import { once } from "node:events";
import { parseArgs } from "node:util";
import { defaultFeatures } from "../src/api/meta/feature-gates.ts";
import type { Pod, Probe } from "../src/api/meta/objects.ts";
import { createProber } from "../src/kubelet/probes/create-prober.ts";
import { createHandlers } from "../src/kubelet/probes/handler/create-handlers.ts";
import type { ProbeHandler } from "../src/kubelet/probes/handler/probe-handler.ts";
import { createProbeMetrics } from "../src/kubelet/probes/probe-metrics.ts";
import { systemClock } from "../src/lib/clock.ts";
import { silentLogger } from "../src/lib/logger.ts";
import { createMetrics } from "../src/lib/metrics/metrics.ts";
import { printTable } from "./support/print-table.ts";

const { values: args } = parseArgs({
  options: { probes: { type: "string", default: "1000" }, seconds: { type: "string", default: "10" } },
});
const count = Number(args.probes);
const seconds = Number(args.seconds);
const periodMs = 1_000;
const asked = { cpuPercent: 25, p99LateMs: 50 };

/** Probed server in a separate process, so that only the prober is measured. */
const serverProgram = `
  require("node:http").createServer((_request, response) => response.end("ok"))
    .listen(0, "127.0.0.1", function () { console.log(this.address().port); });`;

interface Measurement {
  readonly cpuPercent: number;
  readonly perSecond: number;
  readonly lateMs: readonly number[];
  readonly failures: number;
}

/** Each container has one probe per second; their starts are spread over the second. */
async function measure(probe: Probe, handlers: ProbeHandler): Promise<Measurement> {
  const lastBegan = new Map<string, number>();
  const lateMs: number[] = [];
  let counting = false;
  let runs = 0;
  let failures = 0;
  const prober = createProber({
    handlers: async (spec, target, options) => {
      const now = performance.now();
      const last = lastBegan.get(target.containerId);
      lastBegan.set(target.containerId, now);
      if (counting && last !== undefined) lateMs.push(now - last - periodMs);
      if (counting) runs++;
      const outcome = await handlers(spec, target, options);
      if (counting && outcome.kind !== "success" && !options.signal.aborted) failures++;
      return outcome;
    },
    recorder: { record: () => {} },
    checkpoints: { startupFailures: () => 0, startupFailed: () => {}, startupEnded: () => {} },
    clock: systemClock,
    features: defaultFeatures,
    kubeletStartedAtMs: 0,
    random: Math.random,
    metrics: createProbeMetrics(createMetrics()),
    logger: silentLogger,
  });
  for (let index = 0; index < count; index++) {
    observe(prober, index, probe);
    if (index % 10 === 9) await systemClock.sleep((10 * periodMs) / count);
  }
  await systemClock.sleep(2 * periodMs);
  counting = true;
  const before = process.cpuUsage();
  const beganAt = performance.now();
  await systemClock.sleep(seconds * 1_000);
  const tookMs = performance.now() - beganAt;
  const { user, system } = process.cpuUsage(before);
  prober.close();
  lateMs.sort((a, b) => a - b);
  return { cpuPercent: (user + system) / 10 / tookMs, perSecond: runs / (tookMs / 1_000), lateMs, failures };
}

function observe(prober: ReturnType<typeof createProber>, index: number, readinessProbe: Probe): void {
  const metadata = { name: `pod-${index}`, namespace: "bench", uid: `uid-${index}` };
  const containers = [{ name: "c", image: "a", readinessProbe }];
  const pod: Pod = { apiVersion: "v1", kind: "Pod", metadata, spec: { containers } };
  const now = Date.now();
  const sandbox = { id: `s-${index}`, attempt: 0, ready: true, createdAtMs: now, ips: ["127.0.0.1"] };
  const container = {
    id: `c-${index}`,
    name: "c",
    sandboxId: sandbox.id,
    attempt: 0,
    createdAtMs: now,
    state: { kind: "running", startedAtMs: now },
    image: "a",
    imageRef: "a",
    specHash: "",
    restartDelayMs: 0,
    logPath: "",
  } as const;
  prober.observe(pod, { ...metadata, sandboxes: [sandbox], containers: [container] });
}

const server = spawn(process.execPath, ["-e", serverProgram], { stdio: ["ignore", "pipe", "inherit"] });
try {
  const [line] = await once(server.stdout, "data");
  const port = Number(String(line));
  const runtime = { execSync: () => Promise.reject(new Error("no runtime here")) };
  const results = {
    "no-op": await measure({ periodSeconds: 1, exec: {} }, async () => ({ kind: "success" })),
    http: await measure({ periodSeconds: 1, httpGet: { port } }, createHandlers({ runtime })),
    tcp: await measure({ periodSeconds: 1, tcpSocket: { port } }, createHandlers({ runtime })),
  };
  printTable(
    ["probes", "per second", "% of a core", "p50 late, ms", "p99 late, ms", "failed"],
    Object.entries(results).map(([name, { cpuPercent, perSecond, lateMs, failures }]) => [
      name,
      perSecond.toFixed(0),
      cpuPercent.toFixed(1),
      ...[0.5, 0.99].map((share) => (lateMs[Math.floor(share * lateMs.length)] ?? Number.NaN).toFixed(1)),
      String(failures),
    ]),
  );
  console.log(`\ntarget: less than ${asked.cpuPercent} % of a core and a p99 under ${asked.p99LateMs} ms`);
} finally {
  server.kill();
}
