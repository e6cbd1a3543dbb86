/** Runs one task at a time per key, in order. Tasks of different keys run concurrently. */
export interface KeyedMutex {
  run<T>(key: string, task: () => Promise<T>): Promise<T>;
  /** Number of keys with running or waiting tasks. */
  size(): number;
}

export function createKeyedMutex(): KeyedMutex {
  const tails = new Map<string, Promise<void>>();

  return {
    async run(key, task) {
      const before = tails.get(key);
      const result = (before ?? Promise.resolve()).then(task);
      // The tail never rejects: a failure is reported to its caller only.
      const tail = result.then(ignore, ignore);
      tails.set(key, tail);
      try {
        return await result;
      } finally {
        if (tails.get(key) === tail) tails.delete(key);
      }
    },
    size: () => tails.size,
  };
}

function ignore(): void {}
