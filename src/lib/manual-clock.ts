import type { Clock } from "./clock.ts";

interface Sleeper {
  wakeAt: number;
  wake(): void;
}

/** Clock for tests. Time passes only in `advance`. */
export interface ManualClock extends Clock {
  /** Advances the time and wakes sleepers in the order of their deadlines. */
  advance(ms: number): Promise<void>;
  /** Number of pending sleeps. */
  sleeping(): number;
}

export function createManualClock(startAt = 0): ManualClock {
  let now = startAt;
  const sleepers = new Set<Sleeper>();

  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const sleeper: Sleeper = {
          wakeAt: now + ms,
          wake: () => {
            sleepers.delete(sleeper);
            signal?.removeEventListener("abort", onAbort);
            resolve();
          },
        };
        const onAbort = () => {
          sleepers.delete(sleeper);
          reject(signal?.reason);
        };
        signal?.addEventListener("abort", onAbort, { once: true });
        sleepers.add(sleeper);
      }),
    async advance(ms) {
      const target = now + ms;
      await settle();
      for (;;) {
        const next = earliest(sleepers);
        if (!next || next.wakeAt > target) break;
        now = Math.max(now, next.wakeAt);
        next.wake();
        // A woken task may sleep again until before the target time: let it run first.
        await settle();
      }
      now = target;
    },
    sleeping: () => sleepers.size,
  };
}

function earliest(sleepers: ReadonlySet<Sleeper>): Sleeper | undefined {
  let first: Sleeper | undefined;
  for (const sleeper of sleepers) {
    if (!first || sleeper.wakeAt < first.wakeAt) first = sleeper;
  }
  return first;
}

/** Runs all pending microtasks and immediates. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
