import type { WorkQueueOptions } from "../client/work-queue.ts";
import type { Clock } from "../lib/clock.ts";
import { exponentialBuckets, type Metrics } from "../lib/metrics.ts";

/** Upstream's metrics of one work queue. */
export interface WorkQueueMetrics extends Required<Pick<WorkQueueOptions, "onAdd" | "onTake">> {
  retried(): void;
  /** The key is no longer in hand. */
  done(key: string): void;
  /** The queue is no more. */
  end(): void;
}

const buckets = exponentialBuckets(1e-8, 10, 12);

const depth = { name: "workqueue_depth", help: "Keys that wait in a work queue" };
const adds = { name: "workqueue_adds_total", help: "Keys that were added to a work queue" };
const retries = { name: "workqueue_retries_total", help: "Keys that were added again because they failed" };
const queueDuration = {
  name: "workqueue_queue_duration_seconds",
  help: "How long keys wait before they are taken in hand",
  buckets,
};
const workDuration = {
  name: "workqueue_work_duration_seconds",
  help: "How long keys are in hand",
  buckets,
};
const unfinished = {
  name: "workqueue_unfinished_work_seconds",
  help: "How long the keys that are in hand have been there, all together",
};
const longest = {
  name: "workqueue_longest_running_processor_seconds",
  help: "How long the key that has been in hand longest has been there",
};

export function measureWorkQueue(
  { metrics, clock, name }: { readonly metrics: Metrics; readonly clock: Clock; readonly name: string },
  size: () => number,
): WorkQueueMetrics {
  const labels = { name };
  const added = metrics.counter(adds, labels);
  const again = metrics.counter(retries, labels);
  const waited = metrics.histogram(queueDuration, labels);
  const worked = metrics.histogram(workDuration, labels);
  const addedAt = new Map<string, number>();
  const takenAt = new Map<string, number>();
  const inHandSeconds = () => Array.from(takenAt.values(), (since) => secondsSince(since));
  const removals = [
    metrics.gauge(depth, () => [[labels, size()]]),
    metrics.gauge(unfinished, () => [[labels, inHandSeconds().reduce((sum, next) => sum + next, 0)]]),
    metrics.gauge(longest, () => [[labels, Math.max(0, ...inHandSeconds())]]),
  ];

  function secondsSince(then: number): number {
    return (clock.now() - then) / 1_000;
  }

  return {
    onAdd(key) {
      added.add();
      addedAt.set(key, clock.now());
    },
    onTake(key) {
      waited.observe(secondsSince(addedAt.get(key) ?? clock.now()));
      addedAt.delete(key);
      takenAt.set(key, clock.now());
    },
    retried: again.add,
    done(key) {
      worked.observe(secondsSince(takenAt.get(key) ?? clock.now()));
      takenAt.delete(key);
    },
    end() {
      for (const remove of removals) remove();
    },
  };
}
