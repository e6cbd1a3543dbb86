import { setMaxListeners } from "node:events";
import type { Pod } from "../api/objects.ts";
import type { Logger } from "../lib/logger.ts";
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
  readonly logger: Logger;
}

interface Entry {
  readonly worker: PodWorker;
  readonly finished: Promise<void>;
  subject: PodSubject;
}

export function createPodWorkers({ createWorker, logger }: PodWorkersOptions): PodWorkers {
  const entries = new Map<string, Entry>();
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);

  function begin(podUid: string, subject: PodSubject): void {
    const worker = createWorker(subject);
    const finished = worker
      .run(stopping.signal)
      .catch((error) => {
        if (!stopping.signal.aborted) logger.error("a pod's worker failed", { pod: podUid, error });
      })
      .finally(() => entries.delete(podUid));
    entries.set(podUid, { worker, finished, subject });
  }

  return {
    update(subject) {
      const podUid = subject.pod.metadata.uid ?? "";
      const entry = entries.get(podUid);
      if (!entry) {
        if (!stopping.signal.aborted) begin(podUid, subject);
        return;
      }
      entry.subject = subject;
      entry.worker.update(subject);
    },
    remove(podUid) {
      const entry = entries.get(podUid);
      if (!entry) return;
      entry.subject = { ...entry.subject, removed: true, inApi: undefined };
      entry.worker.update(entry.subject);
    },
    noticed: (podUid) => entries.get(podUid)?.worker.noticed(),
    retryNow: (podUid) => entries.get(podUid)?.worker.retryNow(),
    has: (podUid) => entries.has(podUid),
    list: () => [...entries.values()].map(({ subject }) => subject.pod),
    async end(podUid, ending, graceSeconds) {
      const entry = entries.get(podUid);
      entry?.worker.endNow(ending, graceSeconds);
      // A worker that is stopped, or fails, never gets to the pod's end.
      await Promise.race([entry?.worker.ended, entry?.finished]);
    },
    async run(signal) {
      if (!signal.aborted) {
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      }
      stopping.abort(signal.reason);
      await Promise.all([...entries.values()].map(({ finished }) => finished));
    },
  };
}
