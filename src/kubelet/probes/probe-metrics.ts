import type { Pod } from "../../api/meta/objects.ts";
import type { Counter, Histogram, Metrics } from "../../lib/metrics/metrics.ts";
import type { ProbeKind, ProbeResult } from "./decide-probe.ts";

/** Upstream's probe metrics. Each probe has its own series, which are removed with the pod. */
export interface ProbeMetrics {
  of(pod: Pod, containerName: string, kind: ProbeKind): ProbeSeries;
  forget(podUid: string): void;
}

export interface ProbeSeries {
  count(result: ProbeResult, seconds: number): void;
}

const probeTypes = { startup: "Startup", liveness: "Liveness", readiness: "Readiness" } as const;
const resultNames = { success: "successful", failure: "failed", error: "unknown" } as const;

const results = ["success", "failure", "error"] as const;

interface KnownSeries extends ProbeSeries {
  remove(): void;
}

const total = {
  name: "prober_probe_total",
  help: "Cumulative number of a liveness, readiness or startup probe for a container by result.",
};
const duration = {
  name: "prober_probe_duration_seconds",
  help: "Duration in seconds for a probe response.",
  buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
};

export function createProbeMetrics(metrics: Metrics): ProbeMetrics {
  /** Series by pod UID, then by container and probe, so that counters continue after a restart of the container. */
  const byPod = new Map<string, Map<string, KnownSeries>>();

  function createSeries({ metadata }: Pod, container: string, kind: ProbeKind): KnownSeries {
    const { name: pod = "", namespace = "", uid = "" } = metadata;
    const labels = { probe_type: probeTypes[kind], container, pod, namespace };
    const resultLabels = (result: ProbeResult) => ({ ...labels, pod_uid: uid, result: resultNames[result] });
    // As upstream, a series is created with its first value.
    const counters: Partial<Record<ProbeResult, Counter>> = {};
    let histogram: Histogram | undefined;
    return {
      count(result, seconds) {
        counters[result] ??= metrics.counter(total, resultLabels(result));
        counters[result].add();
        // As upstream, durations of failures are not observed, because a failure may be a timeout.
        if (result === "failure") return;
        histogram ??= metrics.histogram(duration, labels);
        histogram.observe(seconds);
      },
      remove() {
        for (const result of results) metrics.remove(total, resultLabels(result));
        metrics.remove(duration, labels);
      },
    };
  }

  return {
    of(pod, containerName, kind) {
      const uid = pod.metadata.uid ?? "";
      const ofPod = byPod.get(uid) ?? new Map<string, KnownSeries>();
      byPod.set(uid, ofPod);
      const key = `${kind} ${containerName}`;
      const series = ofPod.get(key) ?? createSeries(pod, containerName, kind);
      ofPod.set(key, series);
      return series;
    },
    forget(podUid) {
      for (const series of byPod.get(podUid)?.values() ?? []) series.remove();
      byPod.delete(podUid);
    },
  };
}
