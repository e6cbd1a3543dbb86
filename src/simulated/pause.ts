import type { Clock } from "../lib/clock.ts";

/** Timers hold no more than 2^31 ms, and for ever is longer than that. */
const longestSleepMs = 24 * 3_600_000;

/** Waits until the moment, which may be `Infinity`; returns at once when it is over. */
export async function pauseUntil(clock: Clock, atMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  for (let left = atMs - clock.now(); left > 0; left = atMs - clock.now())
    await clock.sleep(Math.min(left, longestSleepMs), signal);
}
