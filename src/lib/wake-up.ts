import type { Clock } from "./clock.ts";

/**
 * Wakes a waiting loop. The loop calls `next` before it checks its state, so that a wake between the check and the wait is
 * not lost.
 */
export interface WakeUp {
  wake(): void;
  next(): Wait;
}

interface Wait {
  /** Waits for `wake` or for the time `atMs` (Infinity: never). Rejects when the signal aborts. */
  orAt(atMs: number, options: { readonly clock: Clock; readonly signal: AbortSignal }): Promise<void>;
}

export function createWakeUp(): WakeUp {
  let generation = 0;
  const waiting = new Set<() => void>();
  return {
    wake() {
      generation++;
      for (const end of waiting) end();
    },
    next() {
      const taken = generation;
      return {
        async orAt(atMs, { clock, signal }) {
          signal.throwIfAborted();
          if (generation !== taken) return;
          // Unlike AbortSignal.any, this leaves no listener on a long-lived signal.
          const ended = new AbortController();
          const end = () => ended.abort();
          waiting.add(end);
          signal.addEventListener("abort", end, { once: true });
          try {
            await clock.sleep(Math.max(0, atMs - clock.now()), ended.signal);
          } catch {
            signal.throwIfAborted();
          } finally {
            waiting.delete(end);
            signal.removeEventListener("abort", end);
          }
        },
      };
    },
  };
}
