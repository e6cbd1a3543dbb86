import { exponentialBuckets, type Metrics } from "../../lib/metrics/metrics.ts";
import { rcodes } from "../wire/query.ts";

/** Metrics of forwarded queries, with the names of CoreDNS' plugins forward and cache. */
export interface ForwardMetrics {
  observe(server: string, rcode: number, seconds: number): void;
  rejected(): void;
  /** Counts a lookup in the cache; undefined if it had no response. */
  cacheLookup(found: { readonly rcode: number } | undefined): void;
  cacheSize(read: () => number): void;
}

const labels = { server: "dns://", zones: ".", view: "" };
const seconds = {
  name: "coredns_proxy_request_duration_seconds",
  help: "Histogram of the time each request took.",
  buckets: exponentialBuckets(0.000_25, 2, 16),
};
const rejects = {
  name: "coredns_forward_max_concurrent_rejects_total",
  help: "Counter of the number of queries rejected because the concurrent queries were at maximum.",
};
const hits = { name: "coredns_cache_hits_total", help: "The count of cache hits." };
const requests = { name: "coredns_cache_requests_total", help: "The count of cache requests." };
const misses = { name: "coredns_cache_misses_total", help: "The count of cache misses." };
const entries = { name: "coredns_cache_entries", help: "The number of elements in the cache." };

export function createForwardMetrics(metrics: Metrics): ForwardMetrics {
  const rejected = metrics.counter(rejects);
  const missed = metrics.counter(misses, labels);
  const asked = metrics.counter(requests, labels);
  const hit = {
    success: metrics.counter(hits, { ...labels, type: "success" }),
    denial: metrics.counter(hits, { ...labels, type: "denial" }),
  };
  return {
    observe(to, rcode, took) {
      metrics.histogram(seconds, { proxy_name: "forward", to, rcode: rcodeName(rcode) }).observe(took);
    },
    rejected: () => rejected.add(),
    cacheLookup(found) {
      asked.add();
      if (!found) missed.add();
      else hit[found.rcode === rcodes.NOERROR ? "success" : "denial"].add();
    },
    cacheSize(read) {
      metrics.gauge(entries, () => [[{ ...labels, type: "success" }, read()]]);
    },
  };
}

/** Name of a response code. Others have their number, of which there are at most 16. */
export function rcodeName(rcode: number): string {
  return Object.entries(rcodes).find(([, value]) => value === rcode)?.[0] ?? String(rcode);
}
