import { join } from "node:path";
import type { Client } from "../client/api/client.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Metrics } from "../lib/metrics/metrics.ts";
import type { Store } from "../store/store.ts";
import type { MonitorConfiguration } from "./configuration/monitor-configuration.ts";
import { createFeed, registerFeedMetrics } from "./feed/create-feed.ts";
import { createStartMetrics } from "./metrics/start-metrics.ts";
import { createTraceExporter, registerTraceMetrics } from "./otlp/trace-exporter.ts";
import type { MonitorParts } from "./server/handle-request.ts";
import { readSavedSlos, registerSloMetrics, runSloTracker } from "./slo/run-slo-tracker.ts";
import { createSloTracker } from "./slo/slo-tracker.ts";
import { createMonitor, type Monitor } from "./tracking/monitor.ts";

export interface MonitorServiceDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Store for first-seen times. The caller opens and closes it. */
  readonly store: Store;
  /** Directory for other files of the monitor. */
  readonly dataDir: string;
  readonly configuration: MonitorConfiguration;
  /** Address of the cluster, shown on the dashboard. */
  readonly server: string;
  /** Time without a restart after which a ready start counts as good for objectives. 30 s by default. */
  readonly goodAfterMs?: number;
  /** Registers metrics of the caller. */
  registerMetrics?(metrics: Metrics): void;
}

export interface MonitorService {
  readonly monitor: Monitor;
  /** Sources of the monitor's HTTP server. */
  readonly parts: MonitorParts;
  run(signal: AbortSignal): Promise<void>;
}

/** Creates the monitor with its subscribers: metrics, objectives, traces and the dashboard feed. */
export async function createMonitorService(deps: MonitorServiceDeps): Promise<MonitorService> {
  const { client, clock, logger, store, dataDir, configuration } = deps;
  const { chosenLabels, chosenAnnotations, objectives, otlp } = configuration;
  const { podSeries, valuesPerLabel, classes } = configuration.metrics;
  const monitor = createMonitor({ client, clock, logger, store, options: configuration });
  const metrics = createStartMetrics({
    clock,
    chosen: [...chosenLabels, ...chosenAnnotations],
    valuesPerLabel,
    classes,
    ...(podSeries > 0 && { podSeries: { limit: podSeries } }),
  });
  monitor.onSignal(metrics.observe);
  monitor.onGone(metrics.forget);

  const slosFile = join(dataDir, "objectives.json");
  const slos = createSloTracker({
    objectives,
    clock,
    *starting() {
      for (const { start } of monitor.starting()) yield start;
    },
    availability: monitor.availability,
    confirm: monitor.confirm,
    saved: await readSavedSlos(slosFile, logger),
    goodAfterMs: deps.goodAfterMs,
  });
  registerSloMetrics(metrics, slos);
  monitor.onSignal(slos.observe);
  monitor.onGone(slos.forget);

  const traces =
    otlp && createTraceExporter({ endpoint: otlp.endpoint, headers: otlp.headers, clock, logger });
  if (traces) {
    registerTraceMetrics(metrics.registry, traces);
    monitor.onSignal(traces.observe);
  }
  const feed = createFeed({ monitor, client, clock, logger, server: deps.server, slos: slos.views });
  registerFeedMetrics(metrics.registry, feed);
  deps.registerMetrics?.(metrics.registry);

  return {
    monitor,
    parts: { subscribe: feed.subscribe, scrape: metrics.scrape, report: slos.views },
    async run(signal) {
      // Subscribers stop after the monitor, so that they receive its last signals.
      const subscribersStop = new AbortController();
      const subscribers = [
        runSloTracker({ tracker: slos, file: slosFile, clock, logger }, subscribersStop.signal),
        traces?.run(subscribersStop.signal),
      ];
      // If one of them fails, the other is stopped and awaited.
      const failed = new AbortController();
      const stopSignal = AbortSignal.any([signal, failed.signal]);
      const running = [monitor.run(stopSignal), feed.run(stopSignal)];
      try {
        await Promise.all(running);
      } finally {
        failed.abort(new Error("the monitor has failed"));
        await Promise.allSettled(running);
        subscribersStop.abort(signal.reason);
        await Promise.all(subscribers);
      }
    },
  };
}
