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

/** Publishes events to all current subscribers. A subscriber that falls too far behind is disconnected. */
export interface EventHub<T> {
  publish(event: T): void;
  subscribe(signal: AbortSignal): AsyncIterable<T>;
  /** Reports whether there are subscribers, so that expensive events need not be created without any. */
  hasSubscribers(): boolean;
  /** Ends every subscription. */
  close(): void;
}

interface HubOptions {
  /** Maximum number of queued events per subscriber. */
  readonly capacity: number;
  /** Error for a disconnected subscriber. */
  overflow(): Error;
}

export function createEventHub<T>({ capacity, overflow }: HubOptions): EventHub<T> {
  const queues = new Set<AsyncQueue<T>>();

  async function* read(queue: AsyncQueue<T>, unsubscribe: () => void): AsyncGenerator<T> {
    try {
      yield* queue;
    } finally {
      unsubscribe();
    }
  }

  return {
    publish(event) {
      for (const queue of queues) {
        if (queue.push(event)) continue;
        queues.delete(queue);
        queue.fail(overflow());
      }
    },
    subscribe(signal) {
      const queue = createAsyncQueue<T>({ capacity });
      const end = () => {
        queues.delete(queue);
        queue.end();
      };
      if (signal.aborted) end();
      else {
        queues.add(queue);
        signal.addEventListener("abort", end, { once: true });
      }
      return read(queue, () => {
        signal.removeEventListener("abort", end);
        queues.delete(queue);
      });
    },
    hasSubscribers: () => queues.size > 0,
    close() {
      for (const queue of queues) queue.end();
      queues.clear();
    },
  };
}
