import type { Clock } from "../../lib/clock.ts";
import { formatLabels } from "../../lib/format-labels.ts";
import { createMetrics, type Metrics } from "../../lib/metrics.ts";
import { processMetrics } from "../../lib/process-metrics.ts";
import type { PodStart, StartSignal } from "../measure/start-signal.ts";
import { createBoundedValues } from "./bounded-values.ts";
import { createClassLabels } from "./class-labels.ts";
import { chooseFormat, contentTypes, encodePieces, toOpenMetrics } from "./exposition.ts";
import { createHistogram } from "./histogram.ts";
import { createPodSeries } from "./pod-series.ts";
import { createTextCounter, type TextCounter } from "./text-counter.ts";

export interface StartMetricsOptions {
  readonly clock: Clock;
  /** Keys of the pods' labels and annotations that become labels of the metrics. */
  readonly chosen?: readonly string[];
  /** How many values a label can have before further ones become `other`. */
  readonly valuesPerLabel?: number;
  /** How many combinations of values there can be. */
  readonly classes?: number;
  /** A series for each pod, of so many pods at most; none unless told. */
  readonly podSeries?: { readonly limit: number };
}

/** How pods start, as Prometheus reads it. */
export interface StartMetrics {
  /** Where other parts of the monitor put their own. */
  readonly small: Metrics;
  /** One of theirs with very many series. */
  addCounter(described: { readonly name: string; readonly help: string }): TextCounter;
  observe(signal: StartSignal): void;
  /** The pod is gone: so are its own series. */
  forget(podUid: string): void;
  /** In the format that the request's Accept header asks for. */
  scrape(accept?: string): { readonly contentType: string; readonly body: Buffer };
}

/** From what a healthy node does to what makes people give up. */
const seconds = [0.1, 0.25, 0.5, 1, 2, 3, 5, 8, 15, 30, 60, 120, 300, 600, 1_800];

export function createStartMetrics(options: StartMetricsOptions): StartMetrics {
  const { clock, chosen = [], valuesPerLabel = 100, classes = 200, podSeries } = options;
  const small = createMetrics();
  const classLabels = createClassLabels({ chosen, valuesPerLabel, classes });
  const histograms = createHistograms();
  const counters = createCounters();
  const added: TextCounter[] = [];
  const reasons = createBoundedValues(valuesPerLabel);
  const pods = podSeries && createPodSeries({ classLabels, limit: podSeries.limit });

  /** By class, which is one object. */
  const classTexts = new WeakMap<object, string>();
  function textOf(labels: Readonly<Record<string, string>>): string {
    const text = classTexts.get(labels) ?? formatLabels(labels);
    classTexts.set(labels, text);
    return text;
  }

  function observeLength(name: keyof typeof histograms, labels: string, { pod }: PodStart, value: number) {
    histograms[name].observe(labels, value, { pod, atMs: clock.now() });
  }

  return {
    small,
    addCounter(described) {
      const counter = createTextCounter(described);
      added.push(counter);
      return counter;
    },
    observe(signal) {
      const { kind, start } = signal;
      const labels = textOf(classLabels.of(start.class));
      pods?.observe(signal);
      switch (kind) {
        case "restart":
          return counters.restarts.inc(labels);
        case "stuck":
          return counters.stuck.inc(`${labels},stage="${signal.stage}"`);
        case "abandoned":
          return counters.abandoned.inc(`${labels},stage="${signal.stage}"`);
        case "user-error":
          return counters.userErrors.inc(
            `${labels},${formatLabels({ reason: reasons.admit(signal.reason) })}`,
          );
        case "unknown":
          return counters.unknown.inc(`${labels},what="${signal.what}"`);
        case "terminated":
          return observeLength("termination", labels, start, signal.seconds);
      }
      // What the user made wait says nothing about the cluster.
      if (start.userError !== undefined) return;
      switch (kind) {
        case "stage":
          return observeLength("stage", `stage="${signal.stage}",${labels}`, start, signal.seconds);
        case "sandbox":
          return observeLength(signal.first ? "firstSandbox" : "recreation", labels, start, signal.seconds);
        case "ready":
          return observeLength("ready", labels, start, signal.seconds);
        case "pull":
          if (signal.bytes !== undefined) counters.pullBytes.inc(labels, Math.max(0, signal.bytes));
          return observeLength("pull", labels, start, signal.seconds);
      }
    },
    forget: (podUid) => pods?.forget(podUid),
    scrape(accept) {
      const format = chooseFormat(accept);
      const isOpen = format === "openmetrics";
      // With what tells how the monitor itself is.
      const others = processMetrics().text() + small.text();
      const body = encodePieces([
        isOpen ? toOpenMetrics(others) : others,
        ...[...Object.values(counters), ...added].map((counter) => counter.render(format)),
        pods?.render() ?? "",
        ...Object.values(histograms).flatMap((histogram) => histogram.render(format)),
        isOpen ? "# EOF\n" : "",
      ]);
      return { contentType: contentTypes[format], body };
    },
  };
}

function createHistograms() {
  const ofSeconds = (name: string, help: string) => createHistogram({ name, help, buckets: seconds });
  return {
    stage: ofSeconds(
      "kindling_pod_start_stage_seconds",
      "Length of each stage of pods' starts, without those that users' errors held up",
    ),
    firstSandbox: ofSeconds(
      "kindling_pod_first_sandbox_seconds",
      "From a pod's scheduling to its first sandbox that was ready (PodReadyToStartContainers), without users' errors",
    ),
    recreation: ofSeconds(
      "kindling_pod_sandbox_recreation_seconds",
      "From the end of a sandbox to the next one of the same pod that was ready",
    ),
    ready: ofSeconds(
      "kindling_pod_start_seconds",
      "From a pod's creation until it was ready for the first time, without users' errors",
    ),
    pull: ofSeconds("kindling_image_pull_seconds", "Length of image pulls"),
    termination: ofSeconds(
      "kindling_pod_termination_seconds",
      "From a pod's deletion until its sandbox was gone",
    ),
  };
}

function createCounters() {
  const counter = (name: string, help: string) => createTextCounter({ name, help });
  return {
    restarts: counter("kindling_container_restarts_total", "Restarts of containers"),
    stuck: counter(
      "kindling_pods_stuck_total",
      "Pods that were in a stage of their start for longer than the operator allows",
    ),
    abandoned: counter(
      "kindling_pod_starts_abandoned_total",
      "Pods that went without ever having been ready, by the stage they had reached",
    ),
    userErrors: counter(
      "kindling_pod_user_errors_total",
      "Starts that the user's own errors held up; they are in no other histogram than that of terminations",
    ),
    unknown: counter(
      "kindling_pod_lengths_unknown_total",
      "Lengths that could not be known, because an event was missed",
    ),
    pullBytes: counter("kindling_image_pull_bytes_total", "Bytes of images pulled"),
  };
}
