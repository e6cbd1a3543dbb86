import { type AsyncQueue, createAsyncQueue } from "../../lib/async-queue.ts";
import { RuntimeError } from "../runtime-error.ts";

/** Everyone who listens hears everything from then on. Who falls too far behind is cut off and has to list again. */
export interface EventHub<T> {
  publish(event: T): void;
  subscribe(signal: AbortSignal): AsyncIterable<T>;
  /** Ends every subscription. */
  close(): void;
}

const mostPending = 1_000;

export function createEventHub<T>({ capacity = mostPending } = {}): EventHub<T> {
  const queues = new Set<AsyncQueue<T>>();

  async function* read(queue: AsyncQueue<T>): AsyncGenerator<T> {
    try {
      yield* queue;
    } finally {
      queues.delete(queue);
    }
  }

  return {
    publish(event) {
      for (const queue of queues) {
        if (queue.push(event)) continue;
        queues.delete(queue);
        queue.fail(
          new RuntimeError("resourceExhausted", `more than ${capacity} events were waiting to be read`),
        );
      }
    },
    subscribe(signal) {
      const queue = createAsyncQueue<T>({ capacity });
      queues.add(queue);
      signal.addEventListener("abort", () => queue.end(), { once: true });
      return read(queue);
    },
    close() {
      for (const queue of queues) queue.end();
    },
  };
}
