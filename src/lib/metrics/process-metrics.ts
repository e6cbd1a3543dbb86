import { readdirSync, readFileSync } from "node:fs";
import { constants, monitorEventLoopDelay, PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics } from "node:v8";
import { createMetrics, type Metrics } from "./metrics.ts";

let known: Metrics | undefined;

/** Metrics of the Node.js process, with the names of prom-client. One registry per process. */
export function processMetrics(): Metrics {
  known ??= createProcessMetrics();
  return known;
}

function createProcessMetrics(): Metrics {
  const metrics = createMetrics();
  const gauge = (name: string, help: string, read: () => number | undefined) =>
    metrics.gauge({ name, help }, () => sample(read()));
  const startedAt = Math.round(Date.now() / 1_000 - process.uptime());

  for (const kind of ["user", "system"] as const) {
    const metric = { name: `process_cpu_${kind}_seconds_total`, help: `CPU time (${kind}) in seconds` };
    metrics.total(metric, () => [[{}, process.cpuUsage()[kind] / 1e6]]);
  }
  metrics.total({ name: "process_cpu_seconds_total", help: "CPU time in seconds" }, () => {
    const { user, system } = process.cpuUsage();
    return [[{}, (user + system) / 1e6]];
  });
  gauge(
    "process_start_time_seconds",
    "Start time of the process since the epoch in seconds",
    () => startedAt,
  );
  gauge("process_resident_memory_bytes", "Resident memory", () => process.memoryUsage.rss());
  gauge("process_virtual_memory_bytes", "Virtual memory", () => readStatus("VmSize"));
  gauge("process_heap_bytes", "Data segment", () => readStatus("VmData"));
  gauge("process_open_fds", "Open file descriptors", countOpenFiles);
  gauge("process_max_fds", "Maximum number of open file descriptors", readMaxFiles);
  gauge("nodejs_heap_size_total_bytes", "Heap", () => process.memoryUsage().heapTotal);
  gauge("nodejs_heap_size_used_bytes", "Heap in use", () => process.memoryUsage().heapUsed);
  gauge("nodejs_external_memory_bytes", "Memory outside of the heap", () => process.memoryUsage().external);
  measureHeapSpaces(metrics);
  measureEventLoop(gauge);
  measureCollections(metrics);
  metrics.gauge(
    { name: "nodejs_active_resources", help: "Resources that keep the event loop alive, by type" },
    () => {
      const counts = new Map<string, number>();
      for (const type of process.getActiveResourcesInfo()) counts.set(type, (counts.get(type) ?? 0) + 1);
      return Array.from(counts, ([type, count]) => [{ type }, count]);
    },
  );
  const [major = "", minor = "", patch = ""] = process.versions.node.split(".");
  metrics.gauge({ name: "nodejs_version_info", help: "Node.js version" }, () => [
    [{ version: process.version, major, minor, patch }, 1],
  ]);
  return metrics;
}

function measureHeapSpaces(metrics: Metrics): void {
  const sizes = { total: "space_size", used: "space_used_size", available: "space_available_size" } as const;
  for (const [what, field] of Object.entries(sizes)) {
    const metric = { name: `nodejs_heap_space_size_${what}_bytes`, help: `Spaces of the heap: ${what}` };
    metrics.gauge(metric, () =>
      getHeapSpaceStatistics().map((space) => [
        { space: space.space_name.replace(/_space$/, "") },
        space[field],
      ]),
    );
  }
}

/** Delay of a 10 ms timer since the last scrape. As in prom-client, all values but the first include the 10 ms. */
function measureEventLoop(gauge: (name: string, help: string, read: () => number | undefined) => void): void {
  const resolutionMs = 10;
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  const reads = {
    "": () => Math.max(0, delay.mean - resolutionMs * 1e6),
    min_: () => delay.min,
    mean_: () => delay.mean,
    stddev_: () => delay.stddev,
    p50_: () => delay.percentile(50),
    p90_: () => delay.percentile(90),
    p99_: () => delay.percentile(99),
    max_() {
      const { max } = delay;
      // Read last.
      delay.reset();
      return max;
    },
  };
  for (const [what, read] of Object.entries(reads)) {
    const help = `Event loop delay, ${what === "" ? "average" : `including its timer: ${what.slice(0, -1)}`}`;
    gauge(`nodejs_eventloop_lag_${what}seconds`, help, () => (delay.count === 0 ? undefined : read() / 1e9));
  }
}

const collectionKinds = new Map([
  [constants.NODE_PERFORMANCE_GC_MAJOR, "major"],
  [constants.NODE_PERFORMANCE_GC_MINOR, "minor"],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, "incremental"],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, "weakcb"],
]);

function measureCollections(metrics: Metrics): void {
  const buckets = [0.001, 0.01, 0.1, 1, 2, 5];
  const metric = {
    name: "nodejs_gc_duration_seconds",
    help: "Duration of garbage collections, by kind",
    buckets,
  };
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      // Missing in the types of Node.
      const { detail } = entry as { readonly detail?: { readonly kind?: number } };
      const kind = collectionKinds.get(detail?.kind ?? 0);
      if (kind) metrics.histogram(metric, { kind }).observe(entry.duration / 1_000);
    }
  }).observe({ entryTypes: ["gc"] });
}

/** No sample when the value is unknown, for example without /proc. */
function sample(value: number | undefined): [Record<string, string>, number][] {
  return value === undefined || Number.isNaN(value) ? [] : [[{}, value]];
}

/** Reads from /proc synchronously, which does not access a disk. */
function readProc<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function readStatus(field: string): number | undefined {
  const text = readProc(() => readFileSync("/proc/self/status", "utf8"));
  const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(text ?? "")?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024;
}

function countOpenFiles(): number | undefined {
  // Excludes the descriptor that reads the directory.
  return readProc(() => readdirSync("/proc/self/fd").length - 1);
}

function readMaxFiles(): number | undefined {
  const text = readProc(() => readFileSync("/proc/self/limits", "utf8"));
  const limit = /^Max open files\s+(\d+)/m.exec(text ?? "")?.[1];
  return limit === undefined ? undefined : Number(limit);
}
