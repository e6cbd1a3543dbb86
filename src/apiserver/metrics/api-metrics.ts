import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { createRequestMetrics, type RequestMetrics } from "./request-metrics.ts";

/** The server's metrics, under upstream's names and labels. */
export interface ApiMetrics extends Pick<RequestMetrics, "observe"> {
  text(): Promise<string>;
  readonly contentType: string;
}

export function createApiMetrics(sources: {
  watchers(): number;
  objects(): { resource: string; count: number }[];
  otherMetrics?: () => string;
}): ApiMetrics {
  const requests = createRequestMetrics();
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: "apiserver_registered_watchers",
    help: "Watches that are open now",
    registers: [registry],
    collect() {
      this.set(sources.watchers());
    },
  });
  new Gauge({
    name: "apiserver_storage_objects",
    help: "Stored objects by resource",
    labelNames: ["resource"],
    registers: [registry],
    collect() {
      for (const { resource, count } of sources.objects()) this.set({ resource }, count);
    },
  });
  return {
    observe: requests.observe,
    text: async () => `${await registry.metrics()}\n${requests.text()}${sources.otherMetrics?.() ?? ""}`,
    contentType: registry.contentType,
  };
}
