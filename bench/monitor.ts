// Measures the cost of the monitor for a large cluster: npm run bench -- monitor [--pods N] [--changes N] [--seconds N]
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createClient } from "../src/client/api/create-client.ts";
import { createHttpTransport } from "../src/client/transport/http-transport.ts";
import { systemClock } from "../src/lib/clock.ts";
import { silentLogger } from "../src/lib/logger.ts";
import { parseMonitorConfiguration } from "../src/monitor/configuration/monitor-configuration.ts";
import { createMonitorService } from "../src/monitor/monitor-service.ts";
import { openLmdbStore } from "../src/store/lmdb/lmdb-store.ts";
import { costOf } from "./support/child-process.ts";
import { median } from "./support/median.ts";
import { printTable } from "./support/print-table.ts";
import { servePods } from "./support/synthetic-pods.ts";

const { values: args } = parseArgs({
  options: {
    pods: { type: "string", default: "150000" },
    /** Pod changes per second. */
    changes: { type: "string", default: "100" },
    /** Duration of the measurement. */
    seconds: { type: "string", default: "30" },
    /** Runs this program as the server of the pods. */
    source: { type: "boolean", default: false },
  },
});

if (args.source) {
  const { port } = await servePods(Number(args.pods), Number(args.changes));
  process.send?.(port);
  // The parent process has exited.
  process.on("disconnect", () => process.exit());
} else await measure();

/** Lists, then applies watch events. Signals go to the metrics and objectives as in production. */
async function measure(): Promise<void> {
  const child = fork(fileURLToPath(import.meta.url), [
    "--source",
    "--pods",
    args.pods,
    "--changes",
    args.changes,
  ]);
  const [port] = await once(child, "message");
  const dataDir = await mkdtemp(join(tmpdir(), "kindling-bench-"));
  const store = await openLmdbStore({ directory: join(dataDir, "starts") });
  const access = { server: new URL(`http://127.0.0.1:${port}`), tls: {} };
  const client = createClient({ transport: createHttpTransport({ access }), userAgent: "bench" });
  const configuration = parseMonitorConfiguration("chosenLabels: [team]", "bench");
  const deps = {
    client,
    clock: systemClock,
    logger: silentLogger,
    store,
    dataDir,
    configuration,
    server: "",
  };
  const { monitor, parts, run } = await createMonitorService(deps);
  let signals = 0;
  monitor.onSignal(() => void signals++);
  const stop = new AbortController();
  try {
    const startedAt = performance.now();
    const running = run(stop.signal);
    await monitor.synced;
    const listSeconds = (performance.now() - startedAt) / 1_000;
    // The records of all pods are written after the list.
    await systemClock.sleep(10_000);
    const signalsBefore = signals;
    const cost = costOf(process.pid);
    const cpuBefore = cost.cpuSeconds();
    await systemClock.sleep(Number(args.seconds) * 1_000);
    const share = (cost.cpuSeconds() - cpuBefore) / Number(args.seconds);
    const plain = await timeScrapes(parts.scrape, "text/plain");
    const open = await timeScrapes(parts.scrape, "application/openmetrics-text");
    const peakMegabytes = process.resourceUsage().maxRSS / 1_024;
    printTable(
      [`${args.pods} pods, ${args.changes} changes a second`, "measured", "wanted"],
      [
        ["listed and looked at, s", listSeconds.toFixed(1), ""],
        ["resident, MB", cost.residentMegabytes().toFixed(0), ""],
        ["resident at most, MB", peakMegabytes.toFixed(0), "1500 or less"],
        ["of a core, %", (share * 100).toFixed(1), "10 or less"],
        ["signals a second", ((signals - signalsBefore) / Number(args.seconds)).toFixed(0), ""],
        ["a scrape of /metrics, median ms", median(plain).toFixed(1), "200 or less"],
        ["the same with exemplars", median(open).toFixed(1), "200 or less"],
      ],
    );
    stop.abort(new Error("the benchmark is over"));
    await running;
  } finally {
    client.close();
    await store.close();
    child.disconnect();
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** Scrapes one second apart, so that each has new values. */
async function timeScrapes(scrape: (accept: string) => unknown, accept: string): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < 10; i++) {
    await systemClock.sleep(1_000);
    const before = performance.now();
    await scrape(accept);
    times.push(performance.now() - before);
  }
  return times;
}
