/**
 * What one side pushes, the other side iterates. Bounded: `push` answers false when the reader has fallen
 * `capacity` items behind, and the owner decides what that means. For one reader.
 */
export interface AsyncQueue<T> extends AsyncIterable<T> {
  push(item: T): boolean;
  /** The reader gets what is queued, then ends. */
  end(): void;
  /** The reader gets the error at once; what is queued is dropped. */
  fail(error: unknown): void;
  size(): number;
}

type Ending = { kind: "open" } | { kind: "ended" } | { kind: "failed"; error: unknown };

export function createAsyncQueue<T>(options: { capacity: number }): AsyncQueue<T> {
  let items: T[] = [];
  // Reads advance an index instead of shifting: a shift of a long array costs its length.
  let head = 0;
  let ending: Ending = { kind: "open" };
  let wake: (() => void) | undefined;

  function wakeReader(): void {
    wake?.();
    wake = undefined;
  }

  async function* read(): AsyncGenerator<T> {
    for (;;) {
      if (ending.kind === "failed") throw ending.error;
      const item = items[head];
      if (head < items.length) {
        head++;
        if (head === items.length) {
          items = [];
          head = 0;
        }
        yield item as T;
        continue;
      }
      if (ending.kind === "ended") return;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }

  return {
    push(item) {
      if (ending.kind !== "open" || items.length - head >= options.capacity) return false;
      items.push(item);
      wakeReader();
      return true;
    },
    end() {
      if (ending.kind === "open") ending = { kind: "ended" };
      wakeReader();
    },
    fail(error) {
      if (ending.kind === "open") ending = { kind: "failed", error };
      items = [];
      head = 0;
      wakeReader();
    },
    size: () => items.length - head,
    [Symbol.asyncIterator]: read,
  };
}
