import { type Counter, exponentialBuckets, type Histogram, type Metrics } from "../lib/metrics.ts";

/** How an attempt to give a pod a node ended. */
type AttemptResult = "scheduled" | "unschedulable" | "error";

/** An attempt, and those before it; times in milliseconds. */
export interface Attempt {
  readonly attempts: number;
  readonly firstTriedAt: number;
  readonly triedAt: number;
}

/** How many pods wait where, by upstream's names of its queues. */
export type PendingPods = Readonly<Record<"active" | "backoff" | "unschedulable" | "gated", number>>;

export interface SchedulingMetrics {
  observe(result: AttemptResult, attempt: Attempt, now: number): void;
  /** Has the pods that wait counted when somebody asks, until the returned function is called. */
  follow(pending: () => PendingPods): () => void;
}

const attemptsTotal = {
  name: "scheduler_schedule_attempts_total",
  help: "Attempts to give pods nodes, by result: unschedulable means that no node was fit, error that trying failed",
};
const attemptDuration = {
  name: "scheduler_scheduling_attempt_duration_seconds",
  help: "How long attempts to give pods nodes took, from the decision until it was written",
  buckets: exponentialBuckets(0.001, 2, 15),
};
const sliDuration = {
  name: "scheduler_pod_scheduling_sli_duration_seconds",
  help: "How long it took to give a pod its node, from the first attempt on",
  buckets: exponentialBuckets(0.01, 2, 20),
};
const attemptsOfPod = {
  name: "scheduler_pod_scheduling_attempts",
  help: "How many attempts it took to give a pod its node",
  buckets: exponentialBuckets(1, 2, 5),
};
const pendingPods = { name: "scheduler_pending_pods", help: "Pods without a node, by where they wait" };

/** Upstream's metrics of a scheduler. */
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
    observe(result, { attempts, firstTriedAt, triedAt }, now) {
      const { total, duration } = byResult[result];
      total.add();
      duration.observe((now - triedAt) / 1_000);
      if (result !== "scheduled") return;
      tries.observe(attempts);
      const label = { attempts: attempts < mostAttempts ? String(attempts) : `${mostAttempts}+` };
      metrics.histogram(sliDuration, label).observe((now - firstTriedAt) / 1_000);
    },
    follow: (pending) =>
      metrics.gauge(pendingPods, () =>
        Object.entries(pending()).map(([queue, count]) => [{ queue }, count] as const),
      ),
  };
}

/** From here on attempts are not told apart: there would be no end of series. */
const mostAttempts = 15;
