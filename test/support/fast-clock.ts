import { type Clock, systemClock } from "../../src/lib/clock.ts";

/** A clock that runs so many times as fast, from now on. */
export function createFastClock(factor: number): Clock {
  const start = Date.now();
  return {
    now: () => start + (Date.now() - start) * factor,
    sleep: (ms, signal) => systemClock.sleep(ms / factor, signal),
  };
}
