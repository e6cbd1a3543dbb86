import type { Resource } from "../../api/resources.ts";
import type { RequestInfo, ResourceRequest, Verb } from "../request-info.ts";

/** Counts requests by upstream's labels. Every request pays for it, so nothing is made text before somebody reads it. */
export interface RequestMetrics {
  observe(request: RequestInfo, facts: { code: number; seconds: number; dryRun: boolean }): void;
  /** In Prometheus' text format. */
  text(): string;
}

const totalName = "apiserver_request_total";
const durationName = "apiserver_request_duration_seconds";
/** Upper bounds in seconds. */
const buckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];

interface Durations {
  readonly labels: string;
  /** How many fell into each bucket, and behind the last; not cumulative yet. */
  readonly counts: number[];
  sum: number;
}

interface Series {
  readonly labels: string;
  total: number;
  /** Shared by all codes; undefined for watches, whose time says nothing. */
  readonly durations: Durations | undefined;
}

export function createRequestMetrics(): RequestMetrics {
  const series = new Map<Resource | undefined, Map<number | string, Series>>();
  const durationsByLabels = new Map<string, Durations>();

  function seriesOf(info: RequestInfo, code: number, dryRun: boolean): Series {
    const resource = info.kind === "resource" ? info.resource : undefined;
    let ofResource = series.get(resource);
    if (!ofResource) {
      ofResource = new Map();
      series.set(resource, ofResource);
    }
    const key = seriesKey(info, code, dryRun);
    let found = ofResource.get(key);
    if (!found) {
      const labels = labelsOf(info, dryRun);
      const isWatch = info.kind === "resource" && info.verb === "watch";
      const durations = isWatch ? undefined : durationsOf(labels);
      found = { labels: `${labels},code="${code}"`, total: 0, durations };
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
        `# HELP ${totalName} Requests by verb, resource and HTTP response code`,
        `# TYPE ${totalName} counter`,
        ...totals.map(({ labels, total }) => `${totalName}{${labels}} ${total}`),
        "",
        `# HELP ${durationName} Time from the arrival of a request to the end of its answer; watches are not counted`,
        `# TYPE ${durationName} histogram`,
        ...[...durationsByLabels.values()].flatMap(durationLines),
        "",
      ].join("\n");
    },
  };
}

/** Almost every request ends in the first. */
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
 * One key for one label set, among those of a resource. As many keys as label sets: nothing that a client chooses
 * freely is in it. A number, because text would have to be made and hashed for every request.
 */
function seriesKey(info: RequestInfo, code: number, dryRun: boolean): number | string {
  if (info.kind === "path" || !info.resource) {
    const verb = info.kind === "path" && !knownPathVerbs.has(info.verb) ? "other" : info.verb;
    return `${verb} ${code} ${dryRun}`;
  }
  const subresources = servedSubresources(info);
  let key = code;
  key = key * verbs.length + verbs.indexOf(info.verb);
  key = key * scopes.length + scopes.indexOf(scopeOf(info));
  key = key * 2 + (dryRun ? 1 : 0);
  // Minus one, where the subresource is none, becomes zero.
  return key * (subresources.length + 1) + subresources.indexOf(info.subresource) + 1;
}

function servedSubresources({ resource }: ResourceRequest): readonly string[] {
  return resource?.subresources ?? [];
}

function scopeOf(info: ResourceRequest): (typeof scopes)[number] {
  if (info.name || info.verb === "create") return "resource";
  return info.namespace ? "namespace" : "cluster";
}

/** Names that clients choose freely must not become labels: what is not served has none. */
function labelsOf(info: RequestInfo, dryRun: boolean): string {
  const labels = { dry_run: dryRun ? "All" : "", component: "apiserver", ...requestLabels(info) };
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join(",");
}

function requestLabels(info: RequestInfo) {
  if (info.kind === "path" || !info.resource) {
    const method = info.kind === "path" ? info.verb : verbNames[info.verb].toLowerCase();
    const verb = knownPathVerbs.has(method) ? method.toUpperCase() : "other";
    return { verb, group: "", version: "", resource: "", subresource: "", scope: "" };
  }
  const { resource, subresource } = info;
  return {
    verb: verbNames[info.verb],
    group: resource.group,
    version: resource.version,
    resource: resource.plural,
    subresource: servedSubresources(info).includes(subresource) ? subresource : "",
    scope: scopeOf(info),
  };
}
