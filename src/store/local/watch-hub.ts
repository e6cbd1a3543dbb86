import { type AsyncQueue, createAsyncQueue } from "../../lib/async-queue.ts";
import {
  compacted,
  defaultMaxBuffered,
  type Entry,
  eventKey,
  type StoreEvent,
  slowWatcher,
  type WatchOptions,
} from "../store.ts";

/** Storage of a local store: current entries, event log and atomic commits. */
export interface Engine extends EventLog {
  get(key: string): Entry | undefined;
  /** Current entries under `prefix`, after `after` if given, in key order. */
  range(prefix: string, after: string | undefined): Iterable<Entry>;
  /** Runs `write` in a transaction and resolves when it is durable. When it rejects, nothing was applied. */
  commit(write: (transaction: Transaction) => void): Promise<void>;
  /** Drops events up to and including `revision`. */
  dropEvents(revision: number): Promise<void>;
  close(): Promise<void>;
}

export interface Transaction {
  get(key: string): Entry | undefined;
  /** Applies the event to the current entries and appends it to the log. */
  apply(event: StoreEvent): void;
}

/** History of a local store: all events after `compactedRevision`, up to `lastRevision`. */
interface EventLog {
  lastRevision(): number;
  compactedRevision(): number;
  /** Reads up to `limit` events from `fromRevision` on, oldest first. */
  read(fromRevision: number, limit: number): readonly StoreEvent[];
}

const chunkSize = 1_000;

function* eventsFrom(log: EventLog, fromRevision: number): Generator<StoreEvent> {
  let next = fromRevision;
  for (;;) {
    const chunk = log.read(next, chunkSize);
    const last = chunk.at(-1);
    if (!last) return;
    yield* chunk;
    next = last.revision + 1;
  }
}

/**
 * Changes that turn the current entries into those of a past revision: for each key under `prefix` that was written
 * since, its entry at that revision, or undefined if it did not exist.
 */
export function changesToRevision(
  log: EventLog,
  revision: number,
  prefix: string,
): Map<string, Entry | undefined> {
  const undo = new Map<string, Entry | undefined>();
  for (const event of eventsFrom(log, revision + 1)) {
    const key = eventKey(event);
    // Only the first change after the revision has the entry of that revision.
    if (key.startsWith(prefix) && !undo.has(key)) undo.set(key, event.previous);
  }
  return undo;
}

interface Watcher {
  prefix: string;
  fromRevision: number;
  maxBuffered: number;
  queue: AsyncQueue<StoreEvent>;
}

/** Watches of a local store: each replays the log until it has caught up, then receives published events. */
interface WatchHub {
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
