/** At most so many at a time, the others in the order they came. */
export interface PullSlots {
  /** Waits for a slot, runs the task in it. Who is aborted while waiting leaves the queue with the signal's reason. */
  run<T>(signal: AbortSignal, task: () => Promise<T>): Promise<T>;
}

export function createPullSlots(count: number): PullSlots {
  let free = count;
  const waiting = new Set<() => void>();

  function take(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      if (free > 0) {
        free--;
        resolve();
        return;
      }
      const start = () => {
        waiting.delete(start);
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        waiting.delete(start);
        reject(signal.reason);
      };
      waiting.add(start);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  function release(): void {
    const [next] = waiting;
    if (next) next();
    else free++;
  }

  return {
    async run(signal, task) {
      await take(signal);
      try {
        return await task();
      } finally {
        release();
      }
    },
  };
}
