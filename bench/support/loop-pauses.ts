import { readFileSync } from "node:fs";

/**
 * Measures the longest time for which the event loop was busy, in CPU time of the main thread: wall-clock time would include the
 * load of other processes.
 */
export interface LoopPauses {
  /** Ends the measurement. Returns the maximum and the 99th percentile in milliseconds. */
  stop(): { longestMs: number; p99Ms: number };
}

export function watchLoopPauses(): LoopPauses {
  const pauses: number[] = [];
  let last = ranMs();
  const timer = setInterval(() => {
    const now = ranMs();
    pauses.push(now - last);
    last = now;
  }, 1);
  return {
    stop() {
      clearInterval(timer);
      pauses.sort((a, b) => a - b);
      return {
        longestMs: pauses.at(-1) ?? 0,
        p99Ms: pauses[Math.floor(pauses.length * 0.99)] ?? 0,
      };
    },
  };
}

/** CPU time of the main thread since its start. */
function ranMs(): number {
  return Number(readFileSync("/proc/self/schedstat", "utf8").split(" ")[0]) / 1e6;
}
