import { setImmediate as nextTurn } from "node:timers/promises";
import { createAsyncQueue } from "../../lib/async-queue.ts";
import { type DuplexCall, isGrpcError } from "../../lib/grpc-call.ts";
import {
  compacted,
  defaultMaxBuffered,
  firstRevision,
  StoreError,
  type StoreEvent,
  slowWatcher,
  type WatchOptions,
} from "../store.ts";
import type { EtcdEndpoint } from "./endpoint.ts";
import { type EtcdFailover, expectPart, fromEtcdError, isUnavailable } from "./failover.ts";
import {
  type Event,
  Event_EventType as EventType,
  type WatchRequest,
  type WatchResponse,
  WatchService,
} from "./generated/etcd.ts";
import type { EtcdKeys } from "./keys.ts";

/**
 * Watches of one store. They share one stream, which is reopened for all of them when it fails:
 *
 *     watch ──▶ requested ── created ──▶ receiving events ── end, error ──▶ cancelled
 *                   ▲                          │
 *                   └───── stream fails ───────┘   continues at the revision after the last complete one
 */
export interface EtcdWatches {
  watch(prefix: string, options: WatchOptions): AsyncIterable<StoreEvent>;
  /** Resolves when the stream has ended, after the failover's signal aborted. */
  ended(): Promise<void>;
}

export function createEtcdWatches(failover: EtcdFailover<EtcdEndpoint>, keys: EtcdKeys): EtcdWatches {
  const watchers = new Map<number, EtcdWatcher>();
  let lastId = 0;
  let running: Promise<void> | undefined;
  let stream: DuplexCall<WatchRequest, WatchResponse> | undefined;
  /** Watchers that etcd has not confirmed yet, in the order of their requests. */
  let unconfirmed: EtcdWatcher[] = [];

  async function readStream(endpoint: EtcdEndpoint): Promise<void> {
    stream = endpoint.openStream(WatchService.watch);
    unconfirmed = [];
    for (const watcher of watchers.values()) request(watcher);
    try {
      for await (const response of stream) {
        // A rejected watch is identified only by its position in the order of requests.
        const watcher = response.created ? unconfirmed.shift() : watchers.get(response.watchId);
        const error = await watcher?.accept(response);
        if (watcher && error) fail(watcher, error);
      }
    } catch (error) {
      if (isUnavailable(error) || !isGrpcError(error)) throw error;
      failAll(fromEtcdError(error, endpoint.url));
    } finally {
      stream = undefined;
    }
  }

  function request(watcher: EtcdWatcher): void {
    unconfirmed.push(watcher);
    stream?.send(watcher.createRequest());
  }

  function add(watcher: EtcdWatcher): void {
    watchers.set(watcher.id, watcher);
    if (stream) request(watcher);
    running ??= failover.keepRunning(readStream).catch((error: unknown) => {
      running = undefined;
      failAll(error);
    });
  }

  function remove({ id }: EtcdWatcher): void {
    if (watchers.delete(id))
      stream?.send({ requestUnion: { $case: "cancelRequest", value: { watchId: id } } });
  }

  function fail(watcher: EtcdWatcher, error: unknown): void {
    watcher.fail(error);
    remove(watcher);
  }

  function failAll(error: unknown): void {
    for (const watcher of watchers.values()) fail(watcher, error);
  }

  return {
    async *watch(prefix, { fromRevision, signal, maxBuffered = defaultMaxBuffered }) {
      if (signal.aborted) return;
      lastId++;
      const watcher = createEtcdWatcher({ id: lastId, prefix, fromRevision, maxBuffered, keys });
      const end = () => watcher.end();
      signal.addEventListener("abort", end, { once: true });
      add(watcher);
      try {
        for await (const event of watcher.events) {
          if (signal.aborted) return;
          yield event;
        }
      } finally {
        remove(watcher);
        signal.removeEventListener("abort", end);
      }
    },
    ended: async () => running,
  };
}

/** One watch: converts stream messages into store events. */
export interface EtcdWatcher {
  readonly id: number;
  readonly events: AsyncIterable<StoreEvent>;
  /** Create request for a new stream, starting after the last event received. */
  createRequest(): WatchRequest;
  /** Processes a message of the stream. Returns an error when the watch cannot continue. */
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
  // Everything before this revision is queued. It is never 0, which etcd interprets as the current revision.
  let nextRevision = Math.max(options.fromRevision, firstRevision);
  // Events of an incomplete revision.
  let held: readonly Event[] = [];

  async function queueEvents(events: readonly Event[]): Promise<StoreError | undefined> {
    for (const event of events) {
      const storeEvent = toStoreEvent(event, keys);
      if (storeEvent instanceof StoreError) return storeEvent;
      if (!queue.push(storeEvent)) {
        // One message can exceed the buffer: yield to the reader before it is considered slow.
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
        // Progress notification: there are no events up to this revision.
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

/**
 * Splits events into complete revisions and an incomplete one. A transaction of another program can change several keys
 * at one revision, and etcd can split a large message anywhere, but a watch can only be resumed at a revision. The
 * revision at the split is held back until it is complete.
 */
function splitAtCut(
  events: readonly Event[],
  { fragment }: { fragment: boolean },
): { whole: Event[]; cut: Event[] } {
  const cutRevision = fragment ? events.at(-1)?.kv?.modRevision : undefined;
  return {
    whole: events.filter((event) => event.kv?.modRevision !== cutRevision),
    cut: events.filter((event) => event.kv?.modRevision === cutRevision),
  };
}

/** Converts an event, or returns `compacted` when the previous value was compacted in the meantime. */
function toStoreEvent(event: Event, keys: EtcdKeys): StoreEvent | StoreError {
  const kv = expectPart(event.kv, "the key of an event");
  const revision = kv.modRevision;
  const previous = event.prevKv && keys.toEntry(event.prevKv);
  if (event.type === EventType.PUT && (previous || kv.createRevision === revision)) {
    return { kind: "put", entry: keys.toEntry(kv), revision, previous };
  }
  if (!previous) return compacted(revision - 1, revision);
  return { kind: "delete", key: previous.key, revision, previous };
}
