import type { Clock } from "../../lib/clock.ts";
import type { PodObserver } from "./pod-observer.ts";
import type { PodWorkers } from "./pod-workers.ts";

/** Resyncs all pods periodically, in case a change was missed. */
export interface SyncLoop {
  /** Describes the problem if the loop is unhealthy. */
  problem(): string | undefined;
  run(signal: AbortSignal): Promise<void>;
}

export interface SyncLoopOptions {
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
