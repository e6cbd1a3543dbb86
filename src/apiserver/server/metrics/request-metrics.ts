import type { KindDefinition } from "../../../api/kinds/kind-definition.ts";
import { createMetrics, formatMetricHeader, metricsContentType } from "../../../lib/metrics/metrics.ts";
import { processMetrics } from "../../../lib/metrics/process-metrics.ts";
import type { InFlight, WatchLimits } from "../../limits/request-limits.ts";
import type { UnreadMemory } from "../../limits/unread-memory.ts";
import type { RequestInfo, ResourceRequest, Verb } from "../../request/request-info.ts";

/** Counts requests by upstream's labels. Text is formatted when metrics are read, not for each request. */
export interface RequestMetrics {
  observe(request: RequestInfo, facts: { code: number; seconds: number; dryRun: boolean }): void;
  /** In Prometheus' text format. */
  text(): string;
}

const totalName = "apiserver_request_total";
const durationName = "apiserver_request_duration_seconds";
const totalMetric = { name: totalName, help: "Requests by verb, resource and HTTP response code" };
const durationMetric = {
  name: durationName,
  help: "Time from the arrival of a request to the end of its response; watches are not counted",
};
/** Upper bounds in seconds. */
const buckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];

interface Durations {
  readonly labels: string;
  /** Number of requests in each bucket and above the last one. Not cumulative. */
  readonly counts: number[];
  sum: number;
}

interface Series {
  readonly labels: string;
  total: number;
  /** Shared by all status codes. Undefined for watches, whose duration is not meaningful. */
  readonly durations: Durations | undefined;
}

export function createRequestMetrics(): RequestMetrics {
  const series = new Map<KindDefinition | undefined, Map<number | string, Series>>();
  // Definitions of one resource that replace each other share their series.
  const seriesByLabels = new Map<string, Series>();
  const durationsByLabels = new Map<string, Durations>();

  function seriesOf(info: RequestInfo, code: number, dryRun: boolean): Series {
    const definition = info.kind === "resource" ? info.definition : undefined;
    let ofResource = series.get(definition);
    if (!ofResource) {
      ofResource = new Map();
      series.set(definition, ofResource);
    }
    const key = seriesKey(info, code, dryRun);
    let found = ofResource.get(key);
    if (!found) {
      const labels = labelsOf(info, dryRun);
      const isWatch = info.kind === "resource" && info.verb === "watch";
      const durations = isWatch ? undefined : durationsOf(labels);
      const allLabels = `${labels},code="${code}"`;
      found = seriesByLabels.get(allLabels) ?? { labels: allLabels, total: 0, durations };
      seriesByLabels.set(allLabels, found);
      ofResource.set(key, found);
    }
    return found;
  }

  function durationsOf(labels: string): Durations {
    let found = durationsByLabels.get(labels);
    if (!found) {
      found = { labels, counts: new Array(buckets.length + 1).fill(0), sum: 0 };
      durationsByLabels.set(labels, found);
    }
    return found;
  }

  return {
    observe(info, { code, seconds, dryRun }) {
      const found = seriesOf(info, code, dryRun);
      found.total++;
      const { durations } = found;
      if (!durations) return;
      const bucket = bucketOf(seconds);
      durations.counts[bucket] = (durations.counts[bucket] ?? 0) + 1;
      durations.sum += seconds;
    },
    text() {
      const totals = [...series.values()].flatMap((ofResource) => [...ofResource.values()]);
      return [
        formatMetricHeader(totalMetric, "counter"),
        ...totals.map(({ labels, total }) => `${totalName}{${labels}} ${total}\n`),
        formatMetricHeader(durationMetric, "histogram"),
        ...[...durationsByLabels.values()].flatMap(durationLines).map((line) => `${line}\n`),
      ].join("");
    },
  };
}

/** Index of the bucket. Most requests are in the first. */
function bucketOf(seconds: number): number {
  let bucket = 0;
  for (const bound of buckets) {
    if (seconds <= bound) break;
    bucket++;
  }
  return bucket;
}

function durationLines({ labels, counts, sum }: Durations): string[] {
  let count = 0;
  const lines = counts.map((inBucket, i) => {
    count += inBucket;
    return `${durationName}_bucket{le="${buckets[i] ?? "+Inf"}",${labels}} ${count}`;
  });
  return [...lines, `${durationName}_sum{${labels}} ${sum}`, `${durationName}_count{${labels}} ${count}`];
}

const verbNames: Readonly<Record<Verb, string>> = {
  "": "OPTIONS",
  get: "GET",
  list: "LIST",
  watch: "WATCH",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
  deletecollection: "DELETECOLLECTION",
};
const verbs = Object.keys(verbNames);
const scopes = ["resource", "namespace", "cluster"] as const;
const knownPathVerbs = new Set(["get", "put", "post", "patch", "delete", "head", "options"]);

/**
 * Key of a label set among those of a resource. It contains nothing that clients choose freely, so that the number of
 * keys is bounded. A number, because building and hashing a string for every request is slower.
 */
function seriesKey(info: RequestInfo, code: number, dryRun: boolean): number | string {
  if (info.kind === "path" || !info.definition) {
    const verb = info.kind === "path" && !knownPathVerbs.has(info.verb) ? "other" : info.verb;
    return `${verb} ${code} ${dryRun}`;
  }
  const subresources = servedSubresources(info);
  let key = code;
  key = key * verbs.length + verbs.indexOf(info.verb);
  key = key * scopes.length + scopes.indexOf(scopeOf(info));
  key = key * 2 + (dryRun ? 1 : 0);
  // -1, for no subresource, becomes 0.
  return key * (subresources.length + 1) + subresources.indexOf(info.subresource) + 1;
}

function servedSubresources({ definition }: ResourceRequest): readonly string[] {
  return definition?.subresources ?? [];
}

function scopeOf(info: ResourceRequest): (typeof scopes)[number] {
  if (info.name || info.verb === "create") return "resource";
  return info.namespace ? "namespace" : "cluster";
}

/** Labels of a request. Resources that are not served have none, because clients choose these names freely. */
function labelsOf(info: RequestInfo, dryRun: boolean): string {
  const labels = { dry_run: dryRun ? "All" : "", component: "apiserver", ...requestLabels(info) };
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join(",");
}

function requestLabels(info: RequestInfo) {
  if (info.kind === "path" || !info.definition) {
    const method = info.kind === "path" ? info.verb : verbNames[info.verb].toLowerCase();
    const verb = knownPathVerbs.has(method) ? method.toUpperCase() : "other";
    return { verb, group: "", version: "", resource: "", subresource: "", scope: "" };
  }
  const { subresource } = info;
  const { resource } = info.definition;
  return {
    verb: verbNames[info.verb],
    group: resource.group,
    version: resource.version,
    resource: resource.plural,
    subresource: servedSubresources(info).includes(subresource) ? subresource : "",
    scope: scopeOf(info),
  };
}

/** The server's metrics, under upstream's names and labels. */
export interface ApiMetrics extends Pick<RequestMetrics, "observe"> {
  text(): string;
  readonly contentType: string;
}

const watchers = { name: "apiserver_registered_watchers", help: "Watches that are open now" };
const longRunning = { name: "apiserver_longrunning_requests", help: "Watches that are open now, by verb" };
const inFlight = {
  name: "apiserver_current_inflight_requests",
  help: "Requests that are being processed now, by kind; watches do not count",
};
const unread = {
  name: "kindling_apiserver_unread_bytes",
  help: "Memory held for clients that have not read their responses",
};
const disconnected = {
  name: "kindling_apiserver_disconnected_readers_total",
  help: "Clients disconnected because they did not read, by reason: timeout or memory",
};
const stored = { name: "apiserver_storage_objects", help: "Stored objects by resource" };

export function createApiMetrics(sources: {
  watchers(): number;
  limits: { inFlight: InFlight; watchLimits: WatchLimits; memory: UnreadMemory };
  objects(): { resource: string; count: number }[];
  otherMetrics?: () => string;
}): ApiMetrics {
  const requests = createRequestMetrics();
  const metrics = createMetrics();
  metrics.gauge(watchers, () => [[{}, sources.watchers()]]);
  const { inFlight: requestsInFlight, watchLimits, memory } = sources.limits;
  metrics.gauge(longRunning, () => [[{ verb: "WATCH" }, watchLimits.count()]]);
  metrics.gauge(inFlight, () => [
    [{ request_kind: "readOnly" }, requestsInFlight.count("read")],
    [{ request_kind: "mutating" }, requestsInFlight.count("write")],
  ]);
  metrics.gauge(unread, () => [[{}, memory.totalBytes()]]);
  metrics.total(disconnected, () =>
    Object.entries(memory.disconnects()).map(([reason, count]) => [{ reason }, count]),
  );
  metrics.gauge(stored, () => sources.objects().map(({ resource, count }) => [{ resource }, count]));
  return {
    observe: requests.observe,
    text: () => processMetrics().text() + metrics.text() + requests.text() + (sources.otherMetrics?.() ?? ""),
    contentType: metricsContentType,
  };
}
