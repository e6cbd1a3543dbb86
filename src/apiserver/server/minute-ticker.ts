import type { Clock } from "../../lib/clock.ts";

/** Calls subscribers once a minute with one timer, instead of a timer for each of thousands of watches. */
export interface MinuteTicker {
  add(callback: () => void): () => void;
  run(signal: AbortSignal): Promise<void>;
}

export function createMinuteTicker(clock: Clock): MinuteTicker {
  const callbacks = new Set<() => void>();
  return {
    add(callback) {
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
    async run(signal) {
      while (!signal.aborted) {
        await clock.sleep(60_000, signal).catch(() => {});
        if (signal.aborted) return;
        for (const callback of callbacks) callback();
      }
    },
  };
}
