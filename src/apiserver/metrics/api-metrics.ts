import { createMetrics, metricsContentType } from "../../lib/metrics.ts";
import { processMetrics } from "../../lib/process-metrics.ts";
import { createRequestMetrics, type RequestMetrics } from "./request-metrics.ts";

/** The server's metrics, under upstream's names and labels. */
export interface ApiMetrics extends Pick<RequestMetrics, "observe"> {
  text(): string;
  readonly contentType: string;
}

const watchers = { name: "apiserver_registered_watchers", help: "Watches that are open now" };
const stored = { name: "apiserver_storage_objects", help: "Stored objects by resource" };

export function createApiMetrics(sources: {
  watchers(): number;
  objects(): { resource: string; count: number }[];
  otherMetrics?: () => string;
}): ApiMetrics {
  const requests = createRequestMetrics();
  const metrics = createMetrics();
  metrics.gauge(watchers, () => [[{}, sources.watchers()]]);
  metrics.gauge(stored, () => sources.objects().map(({ resource, count }) => [{ resource }, count]));
  return {
    observe: requests.observe,
    text: () => processMetrics().text() + metrics.text() + requests.text() + (sources.otherMetrics?.() ?? ""),
    contentType: metricsContentType,
  };
}
