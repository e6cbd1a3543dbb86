import { readFileSync } from "node:fs";

/** How long this thread's event loop was busy at a stretch, without the time in which other processes had its core. */
export interface LoopPauses {
  /** Ends it: the longest and the 99th percentile, in milliseconds. */
  stop(): { longestMs: number; p99Ms: number };
}

export function watchLoopPauses(): LoopPauses {
  const pauses: number[] = [];
  let last = { at: performance.now(), waitedMs: waitedForCoreMs() };
  const timer = setInterval(() => {
    const now = { at: performance.now(), waitedMs: waitedForCoreMs() };
    pauses.push(Math.max(0, now.at - last.at - (now.waitedMs - last.waitedMs) - 1));
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
function waitedForCoreMs(): number {
  return Number(readFileSync("/proc/self/schedstat", "utf8").split(" ")[1]) / 1e6;
}
