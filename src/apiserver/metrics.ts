import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { RequestInfo, ResourceRequest } from "./request-info.ts";

/** The server's metrics, under upstream's names and labels. */
export interface ApiMetrics {
  observe(request: RequestInfo, facts: { code: number; seconds: number; dryRun: boolean }): void;
  text(): Promise<string>;
  readonly contentType: string;
}

const requestLabels = [
  "verb",
  "dry_run",
  "group",
  "version",
  "resource",
  "subresource",
  "scope",
  "component",
] as const;
const durationBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];

/** One series each: label sets are found by a short key instead of being hashed on every request. */
interface Series {
  count(): void;
  observe(seconds: number): void;
}

export function createApiMetrics(sources: {
  watchers(): number;
  objects(): { resource: string; count: number }[];
}): ApiMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const total = new Counter({
    name: "apiserver_request_total",
    help: "Requests by verb, resource and HTTP response code",
    labelNames: [...requestLabels, "code"],
    registers: [registry],
  });
  const duration = new Histogram({
    name: "apiserver_request_duration_seconds",
    help: "Time from the arrival of a request to the end of its answer; watches are not counted",
    labelNames: requestLabels,
    buckets: durationBuckets,
    registers: [registry],
  });
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

  const series = new Map<string, Series>();
  function seriesOf(info: RequestInfo, code: number, dryRun: boolean): Series {
    const key = seriesKey(info, code, dryRun);
    let found = series.get(key);
    if (!found) {
      const labels = labelsOf(info, dryRun);
      const counter = total.labels({ ...labels, code: String(code) });
      const histogram = duration.labels(labels);
      found = { count: () => counter.inc(), observe: (seconds) => histogram.observe(seconds) };
      series.set(key, found);
    }
    return found;
  }

  return {
    observe(info, { code, seconds, dryRun }) {
      const found = seriesOf(info, code, dryRun);
      found.count();
      if (info.kind === "path" || info.verb !== "watch") found.observe(seconds);
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

const verbNames = {
  get: "GET",
  list: "LIST",
  watch: "WATCH",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
  deletecollection: "DELETECOLLECTION",
} as const;

const knownPathVerbs = new Set(["get", "put", "post", "patch", "delete", "head", "options"]);

/** As many keys as label sets: nothing that a client chooses freely is in it. */
function seriesKey(info: RequestInfo, code: number, dryRun: boolean): string {
  if (info.kind === "path" || !info.resource) {
    const verb = info.kind === "path" && !knownPathVerbs.has(info.verb) ? "other" : info.verb;
    return `${verb} ${code} ${dryRun}`;
  }
  const { resource, verb } = info;
  return `${verb} ${resource.storedAs} ${resource.group} ${servedSubresource(info)} ${scopeOf(info)} ${code} ${dryRun}`;
}

function servedSubresource({ resource, subresource }: ResourceRequest): string {
  return (resource?.subresources as readonly string[] | undefined)?.includes(subresource) ? subresource : "";
}

function scopeOf(info: ResourceRequest): string {
  if (info.name || info.verb === "create") return "resource";
  return info.namespace ? "namespace" : "cluster";
}

/** Names that clients choose freely must not become labels: what is not served has none. */
function labelsOf(info: RequestInfo, dryRun: boolean) {
  const shared = { dry_run: dryRun ? "All" : "", component: "apiserver" };
  if (info.kind === "path" || !info.resource) {
    const method = info.kind === "path" ? info.verb : verbNames[info.verb].toLowerCase();
    const verb = knownPathVerbs.has(method) ? method.toUpperCase() : "other";
    return { ...shared, verb, group: "", version: "", resource: "", subresource: "", scope: "" };
  }
  const { resource } = info;
  return {
    ...shared,
    verb: verbNames[info.verb],
    group: resource.group,
    version: resource.version,
    resource: resource.plural,
    subresource: servedSubresource(info),
    scope: scopeOf(info),
  };
}
