/**
 * Limits the number of concurrent tasks; further tasks wait in order. Aborting a waiting task rejects it with the
 * signal's reason.
 */
export type Limiter = <T>(task: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

export function createLimiter(count: number): Limiter {
  let free = count;
  const waiting = new Set<() => void>();

  function enter(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (free > 0) {
        free--;
        resolve();
        return;
      }
      const start = () => {
        waiting.delete(start);
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        waiting.delete(start);
        reject(signal?.reason);
      };
      waiting.add(start);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  return async (task, signal) => {
    await enter(signal);
    try {
      return await task();
    } finally {
      // The slot is passed to the next waiting task directly, so that a new task cannot overtake it.
      const [next] = waiting;
      if (next) next();
      else free++;
    }
  };
}
