import { Counter, Histogram, type Registry } from "prom-client";
import type { Pod } from "../../api/objects.ts";
import type { ProbeKind, ProbeResult } from "./decide-probe.ts";

/** Upstream's metrics of probes. As many series as the node has probes; they go with their pods. */
export interface ProbeMetrics {
  of(pod: Pod, containerName: string, kind: ProbeKind): ProbeSeries;
  forget(podUid: string): void;
}

export interface ProbeSeries {
  count(result: ProbeResult, seconds: number): void;
}

const probeTypes = { startup: "Startup", liveness: "Liveness", readiness: "Readiness" } as const;
const resultNames = { success: "successful", failure: "failed", error: "unknown" } as const;

interface KnownSeries extends ProbeSeries {
  remove(): void;
}

export function createProbeMetrics(registry: Registry): ProbeMetrics {
  const total = new Counter({
    name: "prober_probe_total",
    help: "Cumulative number of a liveness, readiness or startup probe for a container by result.",
    labelNames: ["probe_type", "result", "container", "pod", "namespace", "pod_uid"],
    registers: [registry],
  });
  const duration = new Histogram({
    name: "prober_probe_duration_seconds",
    help: "Duration in seconds for a probe response.",
    labelNames: ["probe_type", "container", "pod", "namespace"],
    registers: [registry],
  });
  /** By pod, then by container and probe: a restarted container goes on counting. */
  const byPod = new Map<string, Map<string, KnownSeries>>();

  function createSeries({ metadata }: Pod, container: string, kind: ProbeKind): KnownSeries {
    const { name: pod = "", namespace = "", uid = "" } = metadata;
    const labels = { probe_type: probeTypes[kind], container, pod, namespace };
    const counters = {
      success: total.labels({ ...labels, pod_uid: uid, result: resultNames.success }),
      failure: total.labels({ ...labels, pod_uid: uid, result: resultNames.failure }),
      error: total.labels({ ...labels, pod_uid: uid, result: resultNames.error }),
    };
    const histogram = duration.labels(labels);
    return {
      count(result, seconds) {
        counters[result].inc();
        // As upstream: a failure may have waited for its timeout and says nothing of how long answers take.
        if (result !== "failure") histogram.observe(seconds);
      },
      remove() {
        for (const result of Object.values(resultNames)) total.remove({ ...labels, pod_uid: uid, result });
        duration.remove(labels);
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
