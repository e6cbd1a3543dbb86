import type { Clock } from "../lib/clock.ts";

/** Clock that follows the system clock and can be advanced ahead of it. */
export interface MovableClock extends Clock {
  /**
   * Advances the time and wakes sleepers in the order of their deadlines. Their work completes before the time advances
   * further.
   */
  advance(ms: number): Promise<void>;
  /** Clears all timers. Sleepers are no longer woken. */
  stop(): void;
}

interface Sleeper {
  readonly wakeAt: number;
  timer: NodeJS.Timeout | undefined;
  wake(): void;
}

/** Maximum delay of a timer; a longer one fires immediately. */
const maxTimerMs = 2 ** 31 - 1;

/** Creates a clock. `settle` resolves when the work of woken sleepers is complete. */
export function createMovableClock({ settle }: { readonly settle: () => Promise<void> }): MovableClock {
  let aheadMs = 0;
  let advancing = Promise.resolve();
  let stopped = false;
  const sleepers = new Set<Sleeper>();
  const now = () => Date.now() + aheadMs;

  function arm(sleeper: Sleeper): void {
    clearTimeout(sleeper.timer);
    const leftMs = Math.max(0, sleeper.wakeAt - now());
    // A timer may fire slightly early, or its maximum delay may be too short.
    const onTimer = () => (now() >= sleeper.wakeAt ? sleeper.wake() : arm(sleeper));
    sleeper.timer = setTimeout(onTimer, Math.min(leftMs, maxTimerMs));
  }

  async function advanceTo(target: number): Promise<void> {
    await settle();
    while (!stopped) {
      const next = earliest(sleepers);
      if (next === undefined || next > target) break;
      aheadMs += Math.max(0, next - now());
      for (const sleeper of [...sleepers]) if (sleeper.wakeAt <= next) sleeper.wake();
      // Woken tasks may sleep again before the target: let them run first.
      await settle();
    }
    aheadMs += Math.max(0, target - now());
    for (const sleeper of sleepers) arm(sleeper);
  }

  return {
    now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const remove = () => {
          sleepers.delete(sleeper);
          clearTimeout(sleeper.timer);
          signal?.removeEventListener("abort", onAbort);
        };
        const sleeper: Sleeper = {
          wakeAt: now() + ms,
          timer: undefined,
          wake() {
            remove();
            resolve();
          },
        };
        const onAbort = () => {
          remove();
          reject(signal?.reason);
        };
        signal?.addEventListener("abort", onAbort, { once: true });
        if (stopped) return;
        sleepers.add(sleeper);
        arm(sleeper);
      }),
    advance(ms) {
      const advanced = advancing.then(() => advanceTo(now() + ms));
      advancing = advanced.catch(() => {});
      return advanced;
    },
    stop() {
      stopped = true;
      for (const { timer } of sleepers) clearTimeout(timer);
      sleepers.clear();
    },
  };
}

function earliest(sleepers: ReadonlySet<Sleeper>): number | undefined {
  let first: number | undefined;
  for (const { wakeAt } of sleepers) if (first === undefined || wakeAt < first) first = wakeAt;
  return first;
}
