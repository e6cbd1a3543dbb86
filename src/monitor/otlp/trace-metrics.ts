import type { Metrics } from "../../lib/metrics.ts";
import type { TraceExporter } from "./trace-exporter.ts";

/** What became of the traces, read from the exporter at each scrape. */
export function registerTraceMetrics(metrics: Metrics, exporter: TraceExporter): void {
  const total = {
    name: "kindling_traces_total",
    help: "Starts as traces, by whether the collector took them or they were dropped",
  };
  metrics.total(total, () => {
    const { sent, dropped } = exporter.counts();
    return [
      [{ result: "sent" }, sent],
      [{ result: "dropped" }, dropped],
    ];
  });
  const waiting = { name: "kindling_traces_waiting", help: "Starts that wait to be sent as traces" };
  metrics.gauge(waiting, () => [[{}, exporter.counts().waiting]]);
}
