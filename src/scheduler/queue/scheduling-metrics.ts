import { type Counter, exponentialBuckets, type Histogram, type Metrics } from "../../lib/metrics/metrics.ts";

/** Result of a scheduling attempt. */
type AttemptResult = "scheduled" | "unschedulable" | "error";

/** Scheduling attempt of a pod; times in milliseconds. */
export interface Attempt {
  readonly attempts: number;
  readonly firstAttemptAt: number;
  readonly attemptedAt: number;
}

/** Number of pending pods by upstream's queue names. */
export type PendingPods = Readonly<Record<"active" | "backoff" | "unschedulable" | "gated", number>>;

export interface SchedulingMetrics {
  observe(result: AttemptResult, attempt: Attempt, now: number): void;
  /** Registers a callback that counts pending pods on each scrape. Returns a function that unregisters it. */
  trackPending(pending: () => PendingPods): () => void;
}

const attemptsTotal = {
  name: "scheduler_schedule_attempts_total",
  help: "Number of attempts to schedule pods, by result: unschedulable means that no node is feasible, error that the attempt failed",
};
const attemptDuration = {
  name: "scheduler_scheduling_attempt_duration_seconds",
  help: "Duration of scheduling attempts, from the decision until the result is written",
  buckets: exponentialBuckets(0.001, 2, 15),
};
const sliDuration = {
  name: "scheduler_pod_scheduling_sli_duration_seconds",
  help: "Time from the first scheduling attempt until the pod is bound",
  buckets: exponentialBuckets(0.01, 2, 20),
};
const attemptsOfPod = {
  name: "scheduler_pod_scheduling_attempts",
  help: "Number of attempts until the pod is bound",
  buckets: exponentialBuckets(1, 2, 5),
};
const pendingPods = { name: "scheduler_pending_pods", help: "Number of pods without a node, by queue" };

/** Creates the upstream scheduler metrics. */
export function createSchedulingMetrics(metrics: Metrics, profile: string): SchedulingMetrics {
  const cells = (result: AttemptResult) => ({
    total: metrics.counter(attemptsTotal, { result, profile }),
    duration: metrics.histogram(attemptDuration, { result, profile }),
  });
  const byResult: Readonly<Record<AttemptResult, { total: Counter; duration: Histogram }>> = {
    scheduled: cells("scheduled"),
    unschedulable: cells("unschedulable"),
    error: cells("error"),
  };
  const tries = metrics.histogram(attemptsOfPod);
  return {
    observe(result, { attempts, firstAttemptAt, attemptedAt }, now) {
      const { total, duration } = byResult[result];
      total.add();
      duration.observe((now - attemptedAt) / 1_000);
      if (result !== "scheduled") return;
      tries.observe(attempts);
      const label = { attempts: attempts < maxAttemptsLabel ? String(attempts) : `${maxAttemptsLabel}+` };
      metrics.histogram(sliDuration, label).observe((now - firstAttemptAt) / 1_000);
    },
    trackPending: (pending) =>
      metrics.gauge(pendingPods, () =>
        Object.entries(pending()).map(([queue, count]) => [{ queue }, count] as const),
      ),
  };
}

/** Upper bound of the `attempts` label, to limit the number of series. */
const maxAttemptsLabel = 15;
