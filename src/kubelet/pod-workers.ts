import { setMaxListeners } from "node:events";
import type { Pod } from "../api/objects.ts";
import { retry } from "../lib/backoff.ts";
import { createChildAbort } from "../lib/child-abort.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { untilAborted } from "../lib/until-aborted.ts";
import { retryPolicy } from "./pod/plan-retry.ts";
import type { PodSubject, PodWorker } from "./pod/pod-worker.ts";
import type { EarlyEnding } from "./status/status-facts.ts";

/** The workers of all pods on this node, by the pod's uid. */
export interface PodWorkers {
  /** Starts a worker for a pod that is new; tells an old one's. */
  update(subject: PodSubject): void;
  /** The pod is gone from its source. Does nothing for one that has no worker. */
  remove(podUid: string): void;
  noticed(podUid: string): void;
  retryNow(podUid: string): void;
  has(podUid: string): boolean;
  /** Pods that have not come to their end yet. */
  list(): readonly Pod[];
  /** Ends a pod for a reason of the node's own. Resolves once nothing of it runs any more, or the workers have been stopped. */
  end(podUid: string, ending: EarlyEnding, graceSeconds: number): Promise<void>;
  /** Until the signal aborts; then waits for every worker to put its tools down. */
  run(signal: AbortSignal): Promise<void>;
}

export interface PodWorkersOptions {
  readonly createWorker: (subject: PodSubject) => PodWorker;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Entry {
  subject: PodSubject;
  /** None between one that failed and the next. */
  worker?: PodWorker | undefined;
  /** What the node wants of it: the next worker has to know, too. */
  order?: { readonly ending: EarlyEnding; readonly graceSeconds: number };
  /** Resolves once nothing of the pod runs any more, whichever worker saw to that. */
  readonly ended: Promise<void>;
  /** Resolves once there is no worker any more, and will be none. */
  finished: Promise<void>;
}

export function createPodWorkers({ createWorker, clock, logger }: PodWorkersOptions): PodWorkers {
  const entries = new Map<string, Entry>();
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);

  function begin(podUid: string, subject: PodSubject): void {
    let markEnded = () => {};
    const ended = new Promise<void>((resolve) => {
      markEnded = resolve;
    });
    const entry: Entry = { subject, ended, finished: ended };
    entries.set(podUid, entry);

    async function live(): Promise<void> {
      // One of its own, so that nothing of a pod stays with the kubelet's, and nothing goes on behind a failure.
      const living = createChildAbort(stopping.signal);
      setMaxListeners(0, living.signal);
      try {
        const worker = createWorker(entry.subject);
        entry.worker = worker;
        void worker.ended.then(markEnded);
        if (entry.order) worker.endNow(entry.order.ending, entry.order.graceSeconds);
        await worker.run(living.signal);
      } finally {
        entry.worker = undefined;
        living.abort();
      }
    }
    // What it does wrong it may do right when things have changed: as upstream's, it is not given up.
    const onFailure = (error: unknown) => logFailure(podUid, error);
    entry.finished = retry(live, { policy: retryPolicy, clock, signal: stopping.signal, onFailure })
      .catch(() => {})
      .finally(() => entries.delete(podUid));
  }

  function logFailure(podUid: string, error: unknown): void {
    logger.error("a pod's worker failed", { pod: podUid, error });
  }

  /** Whoever has news for many pods must not stop at the one whose worker fails. */
  function tell(podUid: string, say: (worker: PodWorker) => void): void {
    const worker = entries.get(podUid)?.worker;
    try {
      if (worker) say(worker);
    } catch (error) {
      logFailure(podUid, error);
    }
  }

  function update(podUid: string, entry: Entry, subject: PodSubject): void {
    entry.subject = subject;
    tell(podUid, (worker) => worker.update(subject));
  }

  return {
    update(subject) {
      const podUid = subject.pod.metadata.uid ?? "";
      const entry = entries.get(podUid);
      if (entry) update(podUid, entry, subject);
      else if (!stopping.signal.aborted) begin(podUid, subject);
    },
    remove(podUid) {
      const entry = entries.get(podUid);
      if (entry) update(podUid, entry, { ...entry.subject, removed: true, inApi: undefined });
    },
    noticed: (podUid) => tell(podUid, (worker) => worker.noticed()),
    retryNow: (podUid) => tell(podUid, (worker) => worker.retryNow()),
    has: (podUid) => entries.has(podUid),
    list: () => [...entries.values()].map(({ subject }) => subject.pod),
    async end(podUid, ending, graceSeconds) {
      const entry = entries.get(podUid);
      if (!entry) return;
      entry.order = { ending, graceSeconds };
      tell(podUid, (worker) => worker.endNow(ending, graceSeconds));
      // A worker that is stopped never gets to the pod's end.
      await Promise.race([entry.ended, entry.finished]);
    },
    async run(signal) {
      await untilAborted(signal);
      stopping.abort(signal.reason);
      await Promise.all([...entries.values()].map(({ finished }) => finished));
    },
  };
}
