/** Source of time. Code that reads the time or waits takes a Clock, so that tests can control it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms`, which may be Infinity; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Longest delay of a Node.js timer; longer ones fire immediately. */
const maxTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      let timer: NodeJS.Timeout;
      const wait = (leftMs: number) => {
        timer = setTimeout(
          () => {
            if (leftMs > maxTimerMs) return wait(leftMs - maxTimerMs);
            signal?.removeEventListener("abort", onAbort);
            resolve();
          },
          Math.min(leftMs, maxTimerMs),
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
