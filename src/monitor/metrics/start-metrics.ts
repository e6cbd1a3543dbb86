// Clauses: 3085-12
import type { Clock } from "../../lib/clock.ts";
import {
  createMetrics,
  formatLabels,
  formatMetricHeader,
  type Metrics,
  metricsContentType,
} from "../../lib/metrics/metrics.ts";
import { processMetrics } from "../../lib/metrics/process-metrics.ts";
import type { PodStart, StartSignal } from "../measure/start-signal.ts";
import { createBoundedValues, createClassLabels } from "./class-labels.ts";
import { createHistogram, type MetricsFormat } from "./histogram.ts";
import { createPodSeries } from "./pod-series.ts";

export interface StartMetricsOptions {
  readonly clock: Clock;
  /** Keys of the pods' labels and annotations that become labels of the metrics. */
  readonly chosen?: readonly string[];
  /** Maximum number of values of a label; further values become `other`. */
  readonly valuesPerLabel?: number;
  /** Maximum number of combinations of label values. */
  readonly classes?: number;
  /** Enables series for each pod, for at most `limit` pods. Default: none. */
  readonly podSeries?: { readonly limit: number };
}

/** Prometheus metrics of pod starts. */
export interface StartMetrics {
  /** Registry for other parts of the monitor. */
  readonly registry: Metrics;
  /** Adds a counter with thousands of series. */
  addCounter(described: { readonly name: string; readonly help: string }): TextCounter;
  observe(signal: StartSignal): void;
  /** Removes the series of a deleted pod. */
  forget(podUid: string): void;
  /** Renders all metrics in the format that the Accept header prefers. */
  scrape(accept?: string): { readonly contentType: string; readonly body: Buffer };
}

/** Histogram buckets in seconds, from a warm start to half an hour. */
const bucketsSeconds = [0.1, 0.25, 0.5, 1, 2, 3, 5, 8, 15, 30, 60, 120, 300, 600, 1_800];

export function createStartMetrics(options: StartMetricsOptions): StartMetrics {
  const { clock, chosen = [], valuesPerLabel = 100, classes = 200, podSeries } = options;
  const registry = createMetrics();
  const classLabels = createClassLabels({ chosen, valuesPerLabel, classes });
  const histograms = createHistograms();
  const counters = createCounters();
  const added: TextCounter[] = [];
  const reasons = createBoundedValues(valuesPerLabel);
  const pods = podSeries && createPodSeries({ classLabels, limit: podSeries.limit });

  /** Formatted labels by labels object; each class has one object. */
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
    registry,
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
        case "abandoned":
          return counters.abandoned.inc(`${labels},stage="${signal.stage}"`);
        case "user-error":
          return counters.userErrors.inc(
            `${labels},${formatLabels({ reason: reasons.bound(signal.reason) })}`,
          );
        case "unknown":
          return counters.unknown.inc(`${labels},what="${signal.what}"`);
        case "terminated":
          return observeLength("termination", labels, start, signal.seconds);
      }
      // Delays caused by user errors do not describe the cluster.
      if (start.userError !== undefined) return;
      switch (kind) {
        case "stuck":
          return counters.stuck.inc(`${labels},stage="${signal.stage}"`);
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
      // Includes the monitor's own process metrics.
      const others = processMetrics().text() + registry.text();
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
  const ofSeconds = (name: string, help: string) => createHistogram({ name, help, buckets: bucketsSeconds });
  return {
    stage: ofSeconds(
      "kindling_pod_start_stage_seconds",
      "Duration of each stage of pod starts, without starts delayed by user errors",
    ),
    firstSandbox: ofSeconds(
      "kindling_pod_first_sandbox_seconds",
      "Time from scheduling to the first ready sandbox (PodReadyToStartContainers), without starts delayed by user errors",
    ),
    recreation: ofSeconds(
      "kindling_pod_sandbox_recreation_seconds",
      "Time from the loss of a pod's sandbox until its next sandbox was ready",
    ),
    ready: ofSeconds(
      "kindling_pod_start_seconds",
      "Time from creation until the pod was ready for the first time, without starts delayed by user errors",
    ),
    pull: ofSeconds("kindling_image_pull_seconds", "Duration of image pulls"),
    termination: ofSeconds(
      "kindling_pod_termination_seconds",
      "Time from deletion until the pod's sandbox was removed",
    ),
  };
}

function createCounters() {
  const counter = (name: string, help: string) => createTextCounter({ name, help });
  return {
    restarts: counter("kindling_container_restarts_total", "Container restarts"),
    stuck: counter(
      "kindling_pods_stuck_total",
      "Pods that stayed in a stage of their start longer than stuckAfterSeconds, without those with a user error",
    ),
    abandoned: counter(
      "kindling_pod_starts_abandoned_total",
      "Pods that were deleted before they were ready, by the stage reached",
    ),
    userErrors: counter(
      "kindling_pod_user_errors_total",
      "Starts delayed by user errors; they count neither as stuck nor in histograms other than terminations",
    ),
    unknown: counter(
      "kindling_pod_lengths_unknown_total",
      "Durations that could not be measured because an event was missed",
    ),
    pullBytes: counter("kindling_image_pull_bytes_total", "Bytes of images pulled"),
  };
}

/** Counter whose series are keyed by formatted labels; cheaper than the registry's for thousands of series. */
interface TextCounter {
  inc(labels: string, by?: number): void;
  render(format: MetricsFormat): string;
}

export function createTextCounter({
  name,
  help,
}: {
  /** Ends in `_total`. */
  readonly name: string;
  readonly help: string;
}): TextCounter {
  const values = new Map<string, number>();
  return {
    inc: (labels, by = 1) => void values.set(labels, (values.get(labels) ?? 0) + by),
    render(format) {
      // In OpenMetrics, HELP and TYPE lines omit the suffix _total.
      const described = format === "openmetrics" ? name.replace(/_total$/, "") : name;
      let text = formatMetricHeader({ name: described, help }, "counter");
      for (const [labels, value] of values) text += `${name}{${labels}} ${value}\n`;
      return text;
    },
  };
}

const contentTypes: Readonly<Record<MetricsFormat, string>> = {
  prometheus: metricsContentType,
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

/** Chooses OpenMetrics, which has exemplars, if the client accepts it. Prometheus prefers it. */
export function chooseFormat(accept: string | undefined): MetricsFormat {
  const wanted = (accept ?? "").split(",").some((part) => {
    const [type, ...parameters] = part.split(";").map((text) => text.trim());
    return type === "application/openmetrics-text" && !parameters.some((text) => /^q=0(\.0*)?$/.test(text));
  });
  return wanted ? "openmetrics" : "prometheus";
}

/** Encodes all pieces into one buffer, so that texts of millions of characters are copied once. */
export function encodePieces(pieces: readonly string[]): Buffer {
  const lengths = pieces.map((piece) => Buffer.byteLength(piece));
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + length, 0));
  let end = 0;
  for (const piece of pieces) end += bytes.write(piece, end);
  return bytes;
}

/** Converts the Prometheus text format to OpenMetrics: HELP and TYPE lines of counters lose the suffix _total. */
export function toOpenMetrics(text: string): string {
  const counters = new Set([...text.matchAll(/^# TYPE (\S+)_total counter$/gm)].map(([, name]) => name));
  return text.replace(/^(# (?:HELP|TYPE) )(\S+)_total /gm, (whole, start: string, name: string) =>
    counters.has(name) ? `${start}${name} ` : whole,
  );
}
