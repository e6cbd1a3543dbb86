import { Counter, Gauge, type Registry } from "prom-client";
import type { TraceExporter } from "./trace-exporter.ts";

/** What became of the traces, read from the exporter at each scrape. */
export function registerTraceMetrics(registry: Registry, exporter: TraceExporter): void {
  new Counter({
    name: "kindling_traces_total",
    help: "Starts as traces, by whether the collector took them or they were dropped",
    labelNames: ["result"],
    registers: [registry],
    collect() {
      const { sent, dropped } = exporter.counts();
      this.reset();
      this.inc({ result: "sent" }, sent);
      this.inc({ result: "dropped" }, dropped);
    },
  });
  new Gauge({
    name: "kindling_traces_waiting",
    help: "Starts that wait to be sent as traces",
    registers: [registry],
    collect() {
      this.set(exporter.counts().waiting);
    },
  });
}
