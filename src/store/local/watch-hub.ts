import { type AsyncQueue, createAsyncQueue } from "../../lib/async-queue.ts";
import {
  compacted,
  defaultMaxBuffered,
  eventKey,
  type StoreEvent,
  slowWatcher,
  type WatchOptions,
} from "../store.ts";
import { type EventLog, eventsFrom } from "./engine.ts";

interface Watcher {
  prefix: string;
  fromRevision: number;
  maxBuffered: number;
  queue: AsyncQueue<StoreEvent>;
}

/** Watches of a local store: each replays the log until it has caught up, then receives published events. */
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
    // The log is read in chunks, so a watch from an old revision needs no more memory than a current one.
    for (const event of eventsFrom(log, fromRevision)) {
      fromRevision = event.revision + 1;
      if (!eventKey(event).startsWith(prefix)) continue;
      yield event;
      // The next events may have been compacted while the reader was slow; the log would skip them.
      if (signal.aborted) return;
      checkReadable();
    }

    // There was no await since the log was exhausted: no event can be lost between replay and live.
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
          // Events must not be dropped or buffered without limit: the reader has to start over.
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
