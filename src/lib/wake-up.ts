import type { Clock } from "./clock.ts";

/**
 * Wakes a loop that waits. `next` is taken before the loop looks at the state of things: what changes after that ends
 * the wait, also when it happens before the wait has begun.
 */
export interface WakeUp {
  wake(): void;
  next(): Wait;
}

interface Wait {
  /** Until `wake`, or the clock shows `atMs` (Infinity: never). Rejects when the signal aborts. */
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
          // Not AbortSignal.any: a signal that lives as long as its loop would gather one of each wait.
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
