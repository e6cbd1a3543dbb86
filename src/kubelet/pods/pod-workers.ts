import { setMaxListeners } from "node:events";
import type { Pod } from "../../api/meta/objects.ts";
import { createChildAbort, untilAborted } from "../../lib/abort.ts";
import { retry } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { TerminationReason } from "../status/status-facts.ts";
import type { PodObserver } from "./pod-observer.ts";
import { retryPolicy } from "./pod-plan.ts";
import type { PodUpdate, PodWorker } from "./pod-worker.ts";

/** Workers of all pods on this node, by pod UID. */
export interface PodWorkers {
  /** Starts a worker for a new pod; passes the update to the worker of a known one. */
  update(next: PodUpdate): void;
  /** Marks the pod as gone from its source. Does nothing when it has no worker. */
  remove(podUid: string): void;
  onStateChanged(podUid: string): void;
  retryNow(podUid: string): void;
  has(podUid: string): boolean;
  /** Pods that have a worker: all that are not cleaned up yet. */
  list(): readonly Pod[];
  /** Pods that their source still has: without those that were force-deleted and are terminating. */
  listExpected(): readonly Pod[];
  /** Pods that are gone from their source and of which something may still run. */
  listRemoved(): readonly Pod[];
  /** Terminates a pod for a reason of the node. Resolves when nothing of it runs any more or the workers have stopped. */
  terminate(podUid: string, reason: TerminationReason, graceSeconds: number): Promise<void>;
  /** Runs until the signal aborts, then waits until every worker has stopped. */
  run(signal: AbortSignal): Promise<void>;
}

export type CreateWorker = (first: PodUpdate) => PodWorker;

interface PodWorkersOptions {
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Entry {
  latest: PodUpdate;
  /** Undefined between a failed worker and its replacement. */
  worker?: PodWorker | undefined;
  /** Termination that the node asked for; passed on to a replacement worker. */
  requested?: { readonly reason: TerminationReason; readonly graceSeconds: number };
  /** Resolves when nothing of the pod runs any more. */
  readonly terminated: Promise<void>;
  isTerminated: boolean;
  /** Resolves when the pod has no worker and will get none. */
  finished: Promise<void>;
}

/**
 * `setFactory` is called once, before the first update. The factory comes late because workers need the cgroups and the
 * acceptance check of the node, and both depend on the list of pods kept here.
 */
export function createPodWorkers({ clock, logger }: PodWorkersOptions): PodWorkers & {
  setFactory(createWorker: CreateWorker): void;
} {
  const entries = new Map<string, Entry>();
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  let createWorker: CreateWorker = () => {
    throw new Error("pod workers have no factory");
  };

  function start(podUid: string, first: PodUpdate): void {
    let markTerminated = () => {};
    const terminated = new Promise<void>((resolve) => {
      markTerminated = resolve;
    });
    const entry: Entry = { latest: first, terminated, isTerminated: false, finished: terminated };
    entries.set(podUid, entry);

    async function runWorker(): Promise<void> {
      // A signal per worker: listeners of a finished pod do not pile up, and nothing continues after a failure.
      const running = createChildAbort(stopping.signal);
      setMaxListeners(0, running.signal);
      try {
        const worker = createWorker(entry.latest);
        entry.worker = worker;
        void worker.terminated.then(() => {
          entry.isTerminated = true;
          markTerminated();
          wakeSuccessors(entry.latest.pod);
        });
        if (entry.requested) worker.terminateNow(entry.requested.reason, entry.requested.graceSeconds);
        await worker.run(running.signal);
      } finally {
        entry.worker = undefined;
        running.abort();
      }
    }
    // As upstream, a pod whose worker failed is retried.
    const onFailure = (error: unknown) => logFailure(podUid, error);
    entry.finished = retry(runWorker, { policy: retryPolicy, clock, signal: stopping.signal, onFailure })
      .catch(() => {})
      .finally(() => {
        entries.delete(podUid);
        wakeSuccessors(entry.latest.pod);
      });
  }

  /** Wakes the workers of pods with the same name, which may wait for this one; see predecessor.ts. */
  function wakeSuccessors({ metadata: { name, namespace } }: Pod): void {
    for (const [podUid, { latest }] of entries) {
      const { metadata } = latest.pod;
      if (metadata.name === name && metadata.namespace === namespace)
        withWorker(podUid, (worker) => worker.onStateChanged());
    }
  }

  function logFailure(podUid: string, error: unknown): void {
    logger.error("pod worker failed", { pod: podUid, error });
  }

  /** Logs errors, so that one failing worker does not keep a caller from reaching the others. */
  function withWorker(podUid: string, use: (worker: PodWorker) => void): void {
    const worker = entries.get(podUid)?.worker;
    try {
      if (worker) use(worker);
    } catch (error) {
      logFailure(podUid, error);
    }
  }

  function update(podUid: string, entry: Entry, next: PodUpdate): void {
    entry.latest = next;
    withWorker(podUid, (worker) => worker.update(next));
  }

  return {
    setFactory(factory) {
      createWorker = factory;
    },
    update(next) {
      const podUid = next.pod.metadata.uid ?? "";
      const entry = entries.get(podUid);
      if (entry) update(podUid, entry, next);
      else if (!stopping.signal.aborted) start(podUid, next);
    },
    remove(podUid) {
      const entry = entries.get(podUid);
      if (entry) update(podUid, entry, { ...entry.latest, removed: true, inApi: undefined });
    },
    onStateChanged: (podUid) => withWorker(podUid, (worker) => worker.onStateChanged()),
    retryNow: (podUid) => withWorker(podUid, (worker) => worker.retryNow()),
    has: (podUid) => entries.has(podUid),
    list: () => [...entries.values()].map(({ latest }) => latest.pod),
    listExpected: () => [...entries.values()].flatMap(({ latest }) => (latest.removed ? [] : [latest.pod])),
    listRemoved: () =>
      [...entries.values()].flatMap(({ latest, isTerminated }) =>
        latest.removed && !isTerminated ? [latest.pod] : [],
      ),
    async terminate(podUid, reason, graceSeconds) {
      const entry = entries.get(podUid);
      if (!entry) return;
      entry.requested = { reason, graceSeconds };
      withWorker(podUid, (worker) => worker.terminateNow(reason, graceSeconds));
      // A worker that is stopped does not resolve `terminated`.
      await Promise.race([entry.terminated, entry.finished]);
    },
    async run(signal) {
      await untilAborted(signal);
      stopping.abort(signal.reason);
      await Promise.all([...entries.values()].map(({ finished }) => finished));
    },
  };
}

/** Resyncs all pods periodically, in case a change was missed. */
export interface SyncLoop {
  /** Describes the problem if the loop is unhealthy. */
  problem(): string | undefined;
  run(signal: AbortSignal): Promise<void>;
}

interface SyncLoopOptions {
  readonly workers: Pick<PodWorkers, "list" | "onStateChanged">;
  readonly observer: Pick<PodObserver, "listedAt">;
  readonly syncFrequencyMs: number;
  readonly clock: Clock;
}

/** Upstream's values. */
const maxListAgeMs = 3 * 60_000;
const minTimeoutMs = 5 * 60_000;

export function createSyncLoop({ workers, observer, syncFrequencyMs, clock }: SyncLoopOptions): SyncLoop {
  const timeoutMs = Math.max(2 * syncFrequencyMs, minTimeoutMs);
  let syncedAt = clock.now();

  function syncAllPods(): void {
    // As upstream, pods are not synced while the runtime does not list them, because their known state is outdated.
    if (clock.now() - observer.listedAt() > maxListAgeMs) return;
    for (const { metadata } of workers.list()) workers.onStateChanged(metadata.uid ?? "");
    syncedAt = clock.now();
  }

  return {
    problem: () => (clock.now() - syncedAt > timeoutMs ? "sync Loop took longer than expected" : undefined),
    async run(signal) {
      for (;;) {
        await clock.sleep(syncFrequencyMs, signal).catch(() => {});
        if (signal.aborted) return;
        syncAllPods();
      }
    },
  };
}
