/** One task at a time per key, in the order they asked; different keys do not wait for each other. */
export interface KeyedMutex {
  run<T>(key: string, task: () => Promise<T>): Promise<T>;
  /** How many keys have a task running or waiting. */
  size(): number;
}

export function createKeyedMutex(): KeyedMutex {
  const tails = new Map<string, Promise<void>>();

  return {
    async run(key, task) {
      const before = tails.get(key);
      const mine = (before ?? Promise.resolve()).then(task);
      // The tail never rejects: one task's failure is its caller's, not the next one's.
      const tail = mine.then(ignore, ignore);
      tails.set(key, tail);
      try {
        return await mine;
      } finally {
        if (tails.get(key) === tail) tails.delete(key);
      }
    },
    size: () => tails.size,
  };
}

function ignore(): void {}
