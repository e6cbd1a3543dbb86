import { join } from "node:path";
import type { Client } from "../client/client.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { Store } from "../store/store.ts";
import type { MonitorConfiguration } from "./configuration/monitor-configuration.ts";
import { createFeed } from "./feed/create-feed.ts";
import { registerFeedMetrics } from "./feed/feed-metrics.ts";
import { createStartMetrics } from "./metrics/start-metrics.ts";
import { createMonitor, type Monitor } from "./monitor.ts";
import { createTraceExporter } from "./otlp/trace-exporter.ts";
import { registerTraceMetrics } from "./otlp/trace-metrics.ts";
import type { MonitorParts } from "./server/answer-request.ts";
import { keepSlos, readSavedSlos } from "./slo/keep-slos.ts";
import { registerSloMetrics } from "./slo/slo-metrics.ts";
import { createSloTracker } from "./slo/slo-tracker.ts";

export interface MonitorServiceDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Opened and closed by the caller. */
  readonly store: Store;
  /** Where else it keeps files. */
  readonly dataDir: string;
  readonly configuration: MonitorConfiguration;
  /** The cluster's address, as the page shows it. */
  readonly server: string;
  /** Adds metrics of whoever runs it. */
  registerMetrics?(metrics: Metrics): void;
}

export interface MonitorService {
  readonly monitor: Monitor;
  /** What a server of the monitor serves. */
  readonly parts: MonitorParts;
  run(signal: AbortSignal): Promise<void>;
}

/** The monitor with all who listen to it: metrics, objectives, traces and the page. */
export async function createMonitorService(deps: MonitorServiceDeps): Promise<MonitorService> {
  const { client, clock, logger, store, dataDir, configuration } = deps;
  const { chosenLabels, chosenAnnotations, objectives, otlp } = configuration;
  const { podSeries, ...bounds } = configuration.metrics;
  const monitor = createMonitor({ client, clock, logger, store, options: configuration });
  const metrics = createStartMetrics({
    clock,
    chosen: [...chosenLabels, ...chosenAnnotations],
    ...bounds,
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
    saved: await readSavedSlos(slosFile, logger),
  });
  registerSloMetrics(metrics, slos);
  monitor.onSignal(slos.observe);

  const traces = otlp && createTraceExporter({ ...otlp, clock, logger });
  if (traces) {
    registerTraceMetrics(metrics.small, traces);
    monitor.onSignal(traces.observe);
  }
  const feed = createFeed({ monitor, client, clock, logger, server: deps.server, slos: slos.views });
  registerFeedMetrics(metrics.small, feed);
  deps.registerMetrics?.(metrics.small);

  return {
    monitor,
    parts: { follow: feed.follow, scrape: metrics.scrape, report: slos.views },
    async run(signal) {
      // Whoever listens goes on until the monitor has told the last of it.
      const listening = new AbortController();
      const listeners = [
        keepSlos({ tracker: slos, file: slosFile, clock, logger }, listening.signal),
        traces?.run(listening.signal),
      ];
      // One that fails ends the other too: nothing runs on that nobody waits for.
      const failed = new AbortController();
      const isOver = AbortSignal.any([signal, failed.signal]);
      const running = [monitor.run(isOver), feed.run(isOver)];
      try {
        await Promise.all(running);
      } finally {
        failed.abort(new Error("the monitor has failed"));
        await Promise.allSettled(running);
        listening.abort(signal.reason);
        await Promise.all(listeners);
      }
    },
  };
}
