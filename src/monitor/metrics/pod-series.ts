import { Gauge, type Registry } from "prom-client";
import type { PodStart, StartSignal } from "../measure/start-signal.ts";
import { presentable } from "./bounded-values.ts";
import type { ClassLabels } from "./class-labels.ts";

/** A series for each pod, for those whose Prometheus can take it. */
export interface PodSeries {
  observe(signal: StartSignal): void;
  forget(podUid: string): void;
}

export interface PodSeriesOptions {
  readonly registry: Registry;
  readonly classLabels: ClassLabels;
  /** How many pods have series at a time; those that started first lose theirs first. */
  readonly limit: number;
}

export function createPodSeries({ registry, classLabels, limit }: PodSeriesOptions): PodSeries {
  const labelNames = [...new Set(["namespace", "pod", "uid", "node", ...classLabels.names])];
  const gauge = (name: string, help: string) => new Gauge({ name, help, labelNames, registers: [registry] });
  const firstSandbox = gauge(
    "kindling_per_pod_first_sandbox_seconds",
    "From the pod's scheduling to its first sandbox that was ready",
  );
  const started = gauge("kindling_per_pod_start_seconds", "From the pod's creation until it was ready");
  const byUid = new Map<string, Readonly<Record<string, string>>>();

  function labelsOf({ pod, class: podClass }: PodStart): Readonly<Record<string, string>> {
    const known = byUid.get(pod.uid);
    if (known) return known;
    for (const oldest of byUid.keys()) {
      if (byUid.size < limit) break;
      forget(oldest);
    }
    const { namespace, name, uid, node = "" } = pod;
    const own = { namespace, pod: name, uid, node };
    const shown = Object.entries(own).map(([label, value]) => [label, presentable(value)]);
    const labels = { ...classLabels.exactly(podClass), ...Object.fromEntries(shown) };
    byUid.set(pod.uid, labels);
    return labels;
  }

  function forget(podUid: string): void {
    const labels = byUid.get(podUid);
    if (!labels) return;
    firstSandbox.remove(labels);
    started.remove(labels);
    byUid.delete(podUid);
  }

  return {
    observe(signal) {
      const { kind, start } = signal;
      if (kind === "sandbox" && signal.first) firstSandbox.set(labelsOf(start), signal.seconds);
      else if (kind === "ready") started.set(labelsOf(start), signal.seconds);
      else if (kind === "terminated" || kind === "abandoned") forget(start.pod.uid);
    },
    forget,
  };
}
