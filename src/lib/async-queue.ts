/**
 * Bounded queue between one producer and one consumer. `push` returns false when `capacity` items are queued; the
 * producer decides how to handle that.
 */
export interface AsyncQueue<T> extends AsyncIterable<T> {
  push(item: T): boolean;
  /** Ends the iteration after the queued items. */
  end(): void;
  /** Fails the iteration immediately; queued items are dropped. */
  fail(error: unknown): void;
  size(): number;
}

type Ending = { kind: "open" } | { kind: "ended" } | { kind: "failed"; error: unknown };

export function createAsyncQueue<T>(options: { capacity: number }): AsyncQueue<T> {
  let items: T[] = [];
  // Advances an index instead of shifting, which costs O(n) for a long array.
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
