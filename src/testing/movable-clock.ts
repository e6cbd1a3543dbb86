import type { Clock } from "../lib/clock.ts";

/** A clock that goes on by itself, as the system's does, and can be moved ahead of it. */
export interface MovableClock extends Clock {
  /**
   * Moves ahead, waking on the way whoever sleeps, in the order of their deadlines. Who is woken has done its work
   * before time moves on.
   */
  advance(ms: number): Promise<void>;
  /** Nobody wakes any more. */
  stop(): void;
}

interface Sleeper {
  readonly wakeAt: number;
  timer: NodeJS.Timeout | undefined;
  wake(): void;
}

/** A timer that is set for longer goes off at once. */
const longestTimerMs = 2 ** 31 - 1;

/** `settle` resolves when everybody who was woken is done. */
export function createMovableClock({ settle }: { readonly settle: () => Promise<void> }): MovableClock {
  let aheadMs = 0;
  let advancing = Promise.resolve();
  let stopped = false;
  const sleepers = new Set<Sleeper>();
  const now = () => Date.now() + aheadMs;

  function arm(sleeper: Sleeper): void {
    clearTimeout(sleeper.timer);
    const leftMs = Math.max(0, sleeper.wakeAt - now());
    // A timer may go off a little early, or be too short for the whole time.
    const ring = () => (now() >= sleeper.wakeAt ? sleeper.wake() : arm(sleeper));
    sleeper.timer = setTimeout(ring, Math.min(leftMs, longestTimerMs));
  }

  async function moveTo(target: number): Promise<void> {
    await settle();
    while (!stopped) {
      const next = earliest(sleepers);
      if (next === undefined || next > target) break;
      aheadMs += Math.max(0, next - now());
      for (const sleeper of [...sleepers]) if (sleeper.wakeAt <= next) sleeper.wake();
      // What woke may go to sleep again before the target: let it run first.
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
        const leave = () => {
          sleepers.delete(sleeper);
          clearTimeout(sleeper.timer);
          signal?.removeEventListener("abort", onAbort);
        };
        const sleeper: Sleeper = {
          wakeAt: now() + ms,
          timer: undefined,
          wake() {
            leave();
            resolve();
          },
        };
        const onAbort = () => {
          leave();
          reject(signal?.reason);
        };
        signal?.addEventListener("abort", onAbort, { once: true });
        if (stopped) return;
        sleepers.add(sleeper);
        arm(sleeper);
      }),
    advance(ms) {
      const moved = advancing.then(() => moveTo(now() + ms));
      advancing = moved.catch(() => {});
      return moved;
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
