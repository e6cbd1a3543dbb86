import { type AsyncQueue, createAsyncQueue } from "./async-queue.ts";

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
