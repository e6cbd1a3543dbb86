import { setImmediate as nextTurn } from "node:timers/promises";
import { createAsyncQueue } from "../../lib/async-queue.ts";
import { firstRevision, type StoreEvent } from "../store.ts";
import { compacted, StoreError, slowWatcher } from "../store-error.ts";
import type { Event, WatchRequest, WatchResponse } from "./generated/etcd.ts";
import type { EtcdKeys } from "./keys.ts";
import { splitAtCut, toStoreEvent } from "./watch-events.ts";

/** One watch, from the messages of the stream to the events that its reader waits for. */
export interface EtcdWatcher {
  readonly id: number;
  readonly events: AsyncIterable<StoreEvent>;
  /** What to ask of a new stream: all that did not come over the one before. */
  createRequest(): WatchRequest;
  /** Takes a message of the stream, or says why the watch cannot go on. */
  accept(response: WatchResponse): Promise<StoreError | undefined>;
  end(): void;
  fail(error: unknown): void;
}

interface WatcherOptions {
  id: number;
  prefix: string;
  fromRevision: number;
  maxBuffered: number;
  keys: EtcdKeys;
}

export function createEtcdWatcher(options: WatcherOptions): EtcdWatcher {
  const { id, prefix, maxBuffered, keys } = options;
  const queue = createAsyncQueue<StoreEvent>({ capacity: maxBuffered });
  // Everything before this revision was queued. It is never 0, which to etcd means "from now on".
  let nextRevision = Math.max(options.fromRevision, firstRevision);
  // Events that wait for the rest of their revision.
  let held: readonly Event[] = [];

  async function queueEvents(events: readonly Event[]): Promise<StoreError | undefined> {
    for (const event of events) {
      const storeEvent = toStoreEvent(event, keys);
      if (storeEvent instanceof StoreError) return storeEvent;
      if (!queue.push(storeEvent)) {
        // One message can hold more events than the buffer: the reader gets a turn before it counts as slow.
        await nextTurn();
        if (!queue.push(storeEvent)) return slowWatcher(prefix, maxBuffered);
      }
      nextRevision = storeEvent.revision + 1;
    }
  }

  return {
    id,
    events: queue,
    createRequest() {
      held = [];
      const options = { startRevision: nextRevision, progressNotify: true, prevKv: true, fragment: true };
      return {
        requestUnion: { $case: "createRequest", value: { watchId: id, ...keys.range(prefix), ...options } },
      };
    },
    async accept({ header, created, canceled, compactRevision, cancelReason, events, fragment }) {
      if (compactRevision > 0) return compacted(nextRevision, compactRevision);
      if (canceled)
        return new StoreError("unavailable", `etcd ended the watch of ${prefix}: ${cancelReason}`);
      if (created) return;
      if (events.length === 0) {
        // A sign of progress: nothing happened here up to this revision, so it need not be asked for again.
        nextRevision = Math.max(nextRevision, (header?.revision ?? 0) + 1);
        return;
      }
      const { whole, cut } = splitAtCut([...held, ...events], { fragment });
      held = cut;
      return queueEvents(whole);
    },
    end: () => queue.end(),
    fail: (error) => queue.fail(error),
  };
}
