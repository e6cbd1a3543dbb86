/**
 * Runs at most so many tasks at a time, the others in the order they came. Who is aborted while it waits leaves the
 * queue with the signal's reason.
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
      // The place goes from hand to hand: whoever comes now does not get in before those that wait.
      const [next] = waiting;
      if (next) next();
      else free++;
    }
  };
}
