import { type AsyncQueue, createAsyncQueue } from "../../lib/async-queue.ts";
import { defaultMaxBuffered, eventKey, type StoreEvent, type WatchOptions } from "../store.ts";
import { compacted, slowWatcher } from "../store-error.ts";
import { type EventLog, eventsFrom } from "./event-log.ts";

interface Watcher {
  prefix: string;
  fromRevision: number;
  maxBuffered: number;
  queue: AsyncQueue<StoreEvent>;
}

/** The watches of a local store: each replays the log until it has caught up, then gets events as they are published. */
export interface WatchHub {
  watch(prefix: string, options: WatchOptions): AsyncIterable<StoreEvent>;
  publish(events: readonly StoreEvent[]): void;
  close(error: Error): void;
}

export function createWatchHub(log: EventLog): WatchHub {
  const live = new Set<Watcher>();
  let closedBy: Error | undefined;

  async function* watch(prefix: string, options: WatchOptions): AsyncGenerator<StoreEvent> {
    const { signal, maxBuffered = defaultMaxBuffered } = options;
    let fromRevision = options.fromRevision;

    function checkReadable(): void {
      if (closedBy) throw closedBy;
      if (fromRevision <= log.compactedRevision()) throw compacted(fromRevision, log.compactedRevision());
    }

    if (signal.aborted) return;
    checkReadable();
    // Replay reads the log in chunks, so a watch from long ago costs no more memory than one from now.
    for (const event of eventsFrom(log, fromRevision)) {
      fromRevision = event.revision + 1;
      if (!eventKey(event).startsWith(prefix)) continue;
      yield event;
      // While the reader took its time, what comes next may have been compacted: the log would skip it.
      if (signal.aborted) return;
      checkReadable();
    }

    // Nothing was awaited since the log said it had no more: no event can fall between replay and live.
    const watcher: Watcher = {
      prefix,
      fromRevision,
      maxBuffered,
      queue: createAsyncQueue({ capacity: maxBuffered }),
    };
    live.add(watcher);
    const stop = () => watcher.queue.end();
    signal.addEventListener("abort", stop, { once: true });
    try {
      for await (const event of watcher.queue) {
        if (signal.aborted) return;
        yield event;
      }
    } finally {
      live.delete(watcher);
      signal.removeEventListener("abort", stop);
    }
  }

  return {
    watch,
    publish(events) {
      for (const watcher of live) {
        for (const event of events) {
          if (event.revision < watcher.fromRevision || !eventKey(event).startsWith(watcher.prefix)) continue;
          if (watcher.queue.push(event)) continue;
          // Dropping an event would be a lie, buffering without end a leak: the reader has to start over.
          live.delete(watcher);
          watcher.queue.fail(slowWatcher(watcher.prefix, watcher.maxBuffered));
          break;
        }
      }
    },
    close(error) {
      closedBy = error;
      for (const watcher of live) watcher.queue.fail(error);
      live.clear();
    },
  };
}
