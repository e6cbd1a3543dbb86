import { type AsyncQueue, createAsyncQueue } from "./async-queue.ts";

/** Everyone who listens hears everything from then on. Who falls too far behind is cut off and has to list again. */
export interface EventHub<T> {
  publish(event: T): void;
  subscribe(signal: AbortSignal): AsyncIterable<T>;
  /** Whether anybody listens: who would have to work for an event asks first. */
  listened(): boolean;
  /** Ends every subscription. */
  close(): void;
}

interface HubOptions {
  /** How many events may wait for one subscriber. */
  readonly capacity: number;
  /** What a subscriber that is cut off hears. */
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
    listened: () => queues.size > 0,
    close() {
      for (const queue of queues) queue.end();
      queues.clear();
    },
  };
}
