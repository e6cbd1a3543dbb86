import { formatLabels, formatMetricHeader } from "../../lib/metrics/metrics.ts";
import type { PodStart, StartSignal } from "../measure/start-signal.ts";
import { type ClassLabels, sanitizeValue } from "./class-labels.ts";

/** Optional series for each pod; they multiply the number of series that Prometheus stores. */
export interface PodSeries {
  observe(signal: StartSignal): void;
  forget(podUid: string): void;
  /** Text of the series, valid in both formats. */
  render(): string;
}

export interface PodSeriesOptions {
  readonly classLabels: ClassLabels;
  /** Maximum number of pods with series; the oldest are removed first. */
  readonly limit: number;
}

const gauges = {
  firstSandbox: {
    name: "kindling_per_pod_first_sandbox_seconds",
    help: "From the pod's scheduling to its first sandbox that was ready",
  },
  started: {
    name: "kindling_per_pod_start_seconds",
    help: "From the pod's creation until it was ready",
  },
} as const;
type GaugeName = keyof typeof gauges;

interface PodLines extends Partial<Record<GaugeName, string>> {
  readonly labels: string;
}

export function createPodSeries({ classLabels, limit }: PodSeriesOptions): PodSeries {
  /** Formatted lines of each pod; they change at most once. */
  const byUid = new Map<string, PodLines>();

  function linesOf({ pod, class: podClass }: PodStart): PodLines {
    const known = byUid.get(pod.uid);
    if (known) return known;
    for (const oldest of byUid.keys()) {
      if (byUid.size < limit) break;
      byUid.delete(oldest);
    }
    const { namespace, name, uid, node = "" } = pod;
    const own = Object.entries({ namespace, pod: name, uid, node });
    const shown = Object.fromEntries(own.map(([label, value]) => [label, sanitizeValue(value)]));
    const lines = { labels: formatLabels({ ...classLabels.exactly(podClass), ...shown }) };
    byUid.set(pod.uid, lines);
    return lines;
  }

  function set(gauge: GaugeName, start: PodStart, seconds: number): void {
    const lines: PodLines = linesOf(start);
    lines[gauge] = `${gauges[gauge].name}{${lines.labels}} ${seconds}\n`;
  }

  return {
    observe(signal) {
      const { kind, start } = signal;
      if (kind === "sandbox" && signal.first) set("firstSandbox", start, signal.seconds);
      else if (kind === "ready") set("started", start, signal.seconds);
      else if (kind === "terminated" || kind === "abandoned") byUid.delete(start.pod.uid);
    },
    forget: (podUid) => void byUid.delete(podUid),
    render() {
      const parts: string[] = [];
      for (const gauge of ["firstSandbox", "started"] as const) {
        parts.push(formatMetricHeader(gauges[gauge], "gauge"));
        for (const lines of byUid.values()) parts.push(lines[gauge] ?? "");
      }
      return parts.join("");
    },
  };
}
