import { exponentialBuckets, type Metrics } from "../../lib/metrics/metrics.ts";
import type { ProxyState } from "../model/backend.ts";

/** Metrics of the proxy, with the names of kube-proxy. */
export interface ProxyMetrics {
  changed(kind: "service" | "endpoint"): void;
  queued(nowMs: number): void;
  synced(sync: SyncFacts): void;
  failed(): void;
  healthChecked(path: "healthz" | "livez", code: number): void;
}

interface SyncFacts {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly isFull: boolean;
  /** Times at which endpoints changed, by the annotation of their slices. */
  readonly triggeredAt: readonly number[];
  readonly state: ProxyState;
}

const syncBuckets = exponentialBuckets(0.001, 2, 15);
/** Buckets of kube-proxy: from 0.25 s to 10 minutes. */
const programmingBuckets = [
  0.25,
  0.5,
  ...Array.from({ length: 60 }, (_, i) => i + 1),
  ...[65, 70, 75, 80, 85, 90, 95, 100, 105, 110, 115, 120],
  ...[150, 180, 210, 240, 270, 300],
];

export function createProxyMetrics(metrics: Metrics): ProxyMetrics {
  const name = (rest: string) => `kubeproxy_${rest}`;
  const duration = (rest: string, help: string) =>
    metrics.histogram({ name: name(rest), help, buckets: syncBuckets });
  const all = duration("sync_proxy_rules_duration_seconds", "Duration of a sync of proxy rules");
  const full = duration("sync_full_proxy_rules_duration_seconds", "Duration of a sync of all proxy rules");
  const partial = duration(
    "sync_partial_proxy_rules_duration_seconds",
    "Duration of a sync of changed services",
  );
  const programming = metrics.histogram({
    name: name("network_programming_duration_seconds"),
    help: "Time from a change of a service's endpoints to the rules that contain it",
    buckets: programmingBuckets,
  });
  const failures = metrics.counter({
    name: name("sync_proxy_rules_nftables_sync_failures_total"),
    help: "Failed syncs of proxy rules",
  });
  const totals = { service: 0, endpoint: 0 };
  const pending = { service: 0, endpoint: 0 };
  let lastSynced = 0;
  let lastQueued = 0;
  let withoutLocal = { internal: 0, external: 0 };
  for (const kind of ["service", "endpoint"] as const) {
    metrics.total(
      { name: name(`sync_proxy_rules_${kind}_changes_total`), help: `Changes of ${kind}s since the start` },
      () => [[{}, totals[kind]]],
    );
    metrics.gauge(
      {
        name: name(`sync_proxy_rules_${kind}_changes_pending`),
        help: `Changes of ${kind}s that are not applied yet`,
      },
      () => [[{}, pending[kind]]],
    );
  }
  const seconds = (rest: string, help: string, read: () => number) =>
    metrics.gauge({ name: name(rest), help }, () => [[{}, read()]]);
  seconds(
    "sync_proxy_rules_last_timestamp_seconds",
    "Time of the last successful sync",
    () => lastSynced / 1_000,
  );
  seconds(
    "sync_proxy_rules_last_queued_timestamp_seconds",
    "Time at which the last sync was queued",
    () => lastQueued / 1_000,
  );
  metrics.gauge(
    {
      name: name("sync_proxy_rules_no_local_endpoints_total"),
      help: "Service ports with traffic policy Local that have endpoints on other nodes only",
    },
    () => Object.entries(withoutLocal).map(([policy, count]) => [{ traffic_policy: policy }, count] as const),
  );

  return {
    changed(kind) {
      totals[kind]++;
      pending[kind]++;
    },
    queued(nowMs) {
      lastQueued = nowMs;
    },
    synced({ startedAt, endedAt, isFull, triggeredAt, state }) {
      const took = (endedAt - startedAt) / 1_000;
      all.observe(took);
      (isFull ? full : partial).observe(took);
      for (const at of triggeredAt) programming.observe((endedAt - at) / 1_000);
      pending.service = 0;
      pending.endpoint = 0;
      lastSynced = endedAt;
      withoutLocal = countWithoutLocal(state);
    },
    failed: () => failures.add(),
    healthChecked: (path, code) =>
      metrics
        .counter(
          { name: name(`proxy_${path}_total`), help: `Responses of /${path} by status code` },
          { code: String(code) },
        )
        .add(),
  };
}

function countWithoutLocal(state: ProxyState): { internal: number; external: number } {
  let internal = 0;
  let external = 0;
  for (const ports of state.values())
    for (const { endpoints, internalPolicy, externalPolicy } of ports) {
      if (!endpoints.hasAny || endpoints.local.length > 0) continue;
      if (internalPolicy === "Local") internal++;
      if (externalPolicy === "Local") external++;
    }
  return { internal, external };
}
