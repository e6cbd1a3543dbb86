import { createAsyncQueue } from "../../lib/async-queue.ts";
import type { WatchSink } from "../api-request.ts";

/** A watch's client in this process: what the watch writes waits here until it is read. */
export interface QueueSink extends WatchSink {
  /** Ends with the watch; leaving it closes the sink. */
  read(): AsyncGenerator<string>;
  /** The reader hears of it at once. */
  fail(error: unknown): void;
}

export function createQueueSink(): QueueSink {
  const closed = new AbortController();
  // What bounds it is the backlog: a watch that sees its reader fall behind waits.
  const queue = createAsyncQueue<string>({ capacity: Number.POSITIVE_INFINITY });
  let backlog = 0;
  let wake = () => {};

  return {
    write(chunk) {
      if (!closed.signal.aborted && queue.push(chunk)) backlog += chunk.length;
    },
    backlog: () => backlog,
    drained: () =>
      new Promise((resolve) => {
        if (backlog === 0 || closed.signal.aborted) return resolve();
        wake = resolve;
      }),
    end() {
      queue.end();
      closed.abort();
      wake();
    },
    fail(error) {
      queue.fail(error);
      closed.abort();
      wake();
    },
    closed: closed.signal,
    async *read() {
      try {
        for await (const chunk of queue) {
          backlog -= chunk.length;
          if (backlog === 0) wake();
          yield chunk;
        }
      } finally {
        closed.abort();
        wake();
      }
    },
  };
}
