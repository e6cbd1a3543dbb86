import type { Features } from "../../api/meta/feature-gates.ts";
import type { Client } from "../../client/api/client.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import { createWorkQueue, type WorkQueue, type WorkQueueOptions } from "../../client/queue/work-queue.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { exponentialBuckets, type Metrics } from "../../lib/metrics/metrics.ts";
import type { Informers } from "./informers.ts";

/** Dependencies that are shared by all controllers, and those of one controller. */
export interface ControllerContext {
  /** Client with the permissions of the controller's own service account. */
  readonly client: Client;
  /** Returns a client with the permissions of another service account of kube-system. */
  clientAs(account: string): Client;
  /** Client that may list every resource. */
  readonly reader: Pick<Client, "list">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly features: Features;
  readonly informers: Informers;
  /** CA bundle of the API server, published to every namespace. Not published if undefined. */
  readonly rootCa?: string;
  /** Directory for local volumes if every node is on this machine. Local volumes are not provisioned if undefined. */
  readonly localVolumes?: {
    readonly directory: string;
    /** Client that may create their StorageClass. Defaults to the controller's client. */
    readonly classCreator?: Pick<Client, "create">;
  };
  /** Returns a recorder for events of this component, for example `statefulset-controller`. */
  recorder(component: string): EventRecorder;
  /** Registry for the controllers' metrics. Defaults to none. */
  readonly metrics?: Metrics;
}

export interface ControllerOptions {
  /** Name for the log and the metrics. */
  readonly name: string;
  /** Number of keys that are reconciled concurrently. Defaults to 5. */
  readonly concurrency?: number;
  /** Registers informer handlers that add the keys affected by a change. Called once, synchronously. */
  watch(queue: Pick<WorkQueue, "add">): void;
  /** Reconciles the object with this key. A rejection requeues the key with back-off. */
  reconcile(key: string): Promise<Reconciled>;
}

/** Requeue delay, or undefined to wait for the next change. */
export type Reconciled = { readonly requeueAfterMs: number } | undefined;

/**
 * Runs changes → keys → queue → reconcile until the signal aborts. Handlers are registered synchronously: the informers
 * may be started as soon as this function has returned its promise.
 */
export async function runController(
  context: Pick<ControllerContext, "informers" | "clock" | "logger" | "metrics">,
  { name, concurrency = 5, watch, reconcile }: ControllerOptions,
  signal: AbortSignal,
): Promise<void> {
  const { informers, clock, metrics } = context;
  const logger = context.logger.component(name);
  const measured = metrics && measureWorkQueue({ metrics, clock, name }, () => queue.size());
  const queue = createWorkQueue({
    clock,
    onFailure(key, error) {
      measured?.retried();
      logger.warn("reconciling failed; requeued with back-off", { key, error });
    },
    onAdd: measured?.onAdd,
    onTake: measured?.onTake,
  });
  watch(queue);
  try {
    await informers.synced();
    await queue.run(signal, concurrency, async (key) => {
      try {
        const result = await reconcile(key);
        if (result) queue.addAfter(key, result.requeueAfterMs);
      } finally {
        measured?.done(key);
      }
    });
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    measured?.close();
  }
}

/** Upstream's metrics of a work queue. */
interface WorkQueueMetrics extends Required<Pick<WorkQueueOptions, "onAdd" | "onTake">> {
  retried(): void;
  /** Records that the key has been processed. */
  done(key: string): void;
  /** Removes the gauges of the queue. */
  close(): void;
}

const buckets = exponentialBuckets(1e-8, 10, 12);

const depth = { name: "workqueue_depth", help: "Current depth of the work queue" };
const adds = { name: "workqueue_adds_total", help: "Total number of keys added to the work queue" };
const retries = { name: "workqueue_retries_total", help: "Total number of keys requeued after a failure" };
const queueDuration = {
  name: "workqueue_queue_duration_seconds",
  help: "Seconds that keys wait in the work queue before they are processed",
  buckets,
};
const workDuration = {
  name: "workqueue_work_duration_seconds",
  help: "Seconds that processing a key takes",
  buckets,
};
const unfinished = {
  name: "workqueue_unfinished_work_seconds",
  help: "Sum of the seconds for which the keys in progress have been processed",
};
const longest = {
  name: "workqueue_longest_running_processor_seconds",
  help: "Seconds for which the longest running key has been processed",
};

function measureWorkQueue(
  { metrics, clock, name }: { readonly metrics: Metrics; readonly clock: Clock; readonly name: string },
  size: () => number,
): WorkQueueMetrics {
  const labels = { name };
  const added = metrics.counter(adds, labels);
  const retried = metrics.counter(retries, labels);
  const waited = metrics.histogram(queueDuration, labels);
  const worked = metrics.histogram(workDuration, labels);
  const addedAt = new Map<string, number>();
  const takenAt = new Map<string, number>();
  const inProgressSeconds = () => Array.from(takenAt.values(), (since) => secondsSince(since));
  const removals = [
    metrics.gauge(depth, () => [[labels, size()]]),
    metrics.gauge(unfinished, () => [[labels, inProgressSeconds().reduce((sum, next) => sum + next, 0)]]),
    metrics.gauge(longest, () => [[labels, Math.max(0, ...inProgressSeconds())]]),
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
    retried: retried.add,
    done(key) {
      worked.observe(secondsSince(takenAt.get(key) ?? clock.now()));
      takenAt.delete(key);
    },
    close() {
      for (const remove of removals) remove();
    },
  };
}
