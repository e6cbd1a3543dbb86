import { readFileSync } from "node:fs";

/**
 * How long the event loop was busy at a stretch, in time that the main thread had a core: on a machine with other
 * work, the clock on the wall says more about that work.
 */
export interface LoopPauses {
  /** Ends it: the longest and the 99th percentile, in milliseconds. */
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

/** Of the main thread, since it began. */
function ranMs(): number {
  return Number(readFileSync("/proc/self/schedstat", "utf8").split(" ")[0]) / 1e6;
}
