import { type Clock, systemClock } from "../../../src/lib/clock.ts";

const stepMs = 10;

/**
 * A clock that runs so many times as fast, from now on. While this process gets no turn it stands still: otherwise those
 * who give signs of life in it would be late for those who listen.
 */
export function createFastClock(factor: number): Clock {
  let seenAt = performance.now();
  let now = Date.now();

  function read(): number {
    const at = performance.now();
    now += Math.min(at - seenAt, 2 * stepMs) * factor;
    seenAt = at;
    return now;
  }
  setInterval(read, stepMs).unref();
  return {
    now: read,
    async sleep(ms, signal) {
      for (const until = read() + ms; read() < until; )
        await systemClock.sleep((until - now) / factor, signal);
    },
  };
}
