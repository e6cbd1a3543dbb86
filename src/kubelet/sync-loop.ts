import type { Clock } from "../lib/clock.ts";
import type { PodObserver } from "./pod-observer.ts";
import type { PodWorkers } from "./pod-workers.ts";

/** Looks at every pod from time to time: whatever was missed is found here. */
export interface SyncLoop {
  /** What is wrong with it, if something is. */
  problem(): string | undefined;
  run(signal: AbortSignal): Promise<void>;
}

export interface SyncLoopOptions {
  readonly workers: Pick<PodWorkers, "list" | "noticed">;
  readonly observer: Pick<PodObserver, "listedAt">;
  readonly syncFrequencyMs: number;
  readonly clock: Clock;
}

/** Upstream's numbers. */
const listedWithinMs = 3 * 60_000;
const leastPatienceMs = 5 * 60_000;

export function createSyncLoop({ workers, observer, syncFrequencyMs, clock }: SyncLoopOptions): SyncLoop {
  const patienceMs = Math.max(2 * syncFrequencyMs, leastPatienceMs);
  let cameRoundAt = clock.now();

  function lookAtAllPods(): void {
    // As upstream's: while the runtime does not list its pods, what is known of them is too old to go by.
    if (clock.now() - observer.listedAt() > listedWithinMs) return;
    for (const { metadata } of workers.list()) workers.noticed(metadata.uid ?? "");
    cameRoundAt = clock.now();
  }

  return {
    problem: () =>
      clock.now() - cameRoundAt > patienceMs ? "sync Loop took longer than expected" : undefined,
    async run(signal) {
      for (;;) {
        await clock.sleep(syncFrequencyMs, signal).catch(() => {});
        if (signal.aborted) return;
        lookAtAllPods();
      }
    },
  };
}
