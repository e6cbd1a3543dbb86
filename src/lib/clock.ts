/** Time as an argument: whatever reads or waits for time takes a Clock, so that tests can move it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms`, which may be Infinity; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A timer that is set for longer goes off at once. */
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      let timer: NodeJS.Timeout;
      const wait = (leftMs: number) => {
        timer = setTimeout(
          () => {
            if (leftMs > longestTimerMs) return wait(leftMs - longestTimerMs);
            signal?.removeEventListener("abort", onAbort);
            resolve();
          },
          Math.min(leftMs, longestTimerMs),
        );
      };
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      wait(ms);
    }),
};
