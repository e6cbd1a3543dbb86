import {
  type CreateResult,
  checkKey,
  checkValue,
  compacted,
  type DeleteResult,
  type Entry,
  futureRevision,
  isValidKey,
  type ListPage,
  type Store,
  type StoreEvent,
  storeClosed,
  type UpdateResult,
} from "../store.ts";
import { changesToRevision, type Engine } from "./engine.ts";
import { createWatchHub } from "./watch-hub.ts";

interface PendingWrite {
  request: WriteRequest;
  resolve(result: WriteResult): void;
  reject(error: unknown): void;
}

/** Maximum size of a group, which the engine holds in memory until it is durable. */
const maxGroupBytes = 8 * 2 ** 20;

/** Creates a store in this process over a storage engine. */
export function createLocalStore(engine: Engine): Store {
  const hub = createWatchHub(engine);
  const pending: PendingWrite[] = [];
  let committing: Promise<void> | undefined;
  let closed = false;

  function write(request: WriteRequest): Promise<WriteResult> {
    return new Promise((resolve, reject) => {
      if (closed) throw storeClosed();
      checkKey(request.key);
      if (request.kind !== "delete") checkValue(request.key, request.value);
      pending.push({ request, resolve, reject });
      committing ??= commitAll();
    });
  }

  /** Group commit: the writes that arrive while one group is being committed form the next group. */
  async function commitAll(): Promise<void> {
    // Writes of the same event loop turn share the first group.
    await Promise.resolve();
    while (pending.length > 0) await commitGroup(takeGroup());
    committing = undefined;
  }

  function takeGroup(): PendingWrite[] {
    let bytes = 0;
    const end = pending.findIndex(({ request }) => {
      bytes += request.kind === "delete" ? 0 : request.value.length;
      return bytes > maxGroupBytes;
    });
    return pending.splice(0, end === -1 ? pending.length : Math.max(end, 1));
  }

  async function commitGroup(group: readonly PendingWrite[]): Promise<void> {
    const results: WriteResult[] = [];
    const events: StoreEvent[] = [];
    try {
      await engine.commit((transaction) => {
        let revision = engine.lastRevision();
        for (const { request } of group) {
          const { result, event } = decideWrite(request, transaction.get(request.key), revision + 1);
          results.push(result);
          if (!event) continue;
          transaction.apply(event);
          events.push(event);
          revision = event.revision;
        }
      });
    } catch (error) {
      for (const write of group) write.reject(error);
      return;
    }
    // Events are published before the writes resolve, so that a writer can rely on watchers having received its write.
    hub.publish(events);
    for (const [i, write] of group.entries()) write.resolve(results[i] as WriteResult);
  }

  function checkReadable(revision: number): void {
    if (revision > engine.lastRevision()) throw futureRevision(revision, engine.lastRevision());
    if (revision < engine.compactedRevision()) throw compacted(revision, engine.compactedRevision());
  }

  function checkOpen(): void {
    if (closed) throw storeClosed();
  }

  return {
    shared: false,
    // decideWrite returns a result of the request's kind.
    create: (key, value) => write({ kind: "create", key, value }) as Promise<CreateResult>,
    update: (key, value, { ifRevision }) =>
      write({ kind: "update", key, value, ifRevision }) as Promise<UpdateResult>,
    delete: (key, { ifRevision }) => write({ kind: "delete", key, ifRevision }) as Promise<DeleteResult>,

    async get(key, { atRevision } = {}) {
      checkOpen();
      if (atRevision !== undefined) checkReadable(atRevision);
      // An engine may not be able to represent invalid keys.
      if (!isValidKey(key)) return undefined;
      if (atRevision === undefined) return engine.get(key);
      const undo = changesToRevision(engine, atRevision, key);
      return undo.has(key) ? undo.get(key) : engine.get(key);
    },

    async list(prefix, { limit = Number.POSITIVE_INFINITY, after, atRevision } = {}) {
      checkOpen();
      const revision = atRevision ?? engine.lastRevision();
      checkReadable(revision);
      if (!isValidKey(prefix)) return { entries: [], more: false, revision };
      const present = engine.range(prefix, after);
      if (revision === engine.lastRevision()) return { ...readPage(present, limit), revision };
      return {
        ...readPastPage(present, changesToRevision(engine, revision, prefix), { limit, after }),
        revision,
      };
    },

    async *watch(prefix, options) {
      checkOpen();
      yield* hub.watch(prefix, options);
    },

    async compact(revision) {
      checkOpen();
      if (revision > engine.lastRevision()) throw futureRevision(revision, engine.lastRevision());
      // Also at the same revision: an earlier compaction may have failed partially.
      if (revision >= engine.compactedRevision()) await engine.dropEvents(revision);
    },

    async currentRevision() {
      checkOpen();
      return engine.lastRevision();
    },

    async close() {
      if (closed) return;
      closed = true;
      await committing;
      hub.close(storeClosed());
      await engine.close();
    },
  };
}

/** Requested write; `ifRevision` is the revision that the key must have. */
type WriteRequest =
  | { readonly kind: "create"; readonly key: string; readonly value: Buffer }
  | { readonly kind: "update"; readonly key: string; readonly value: Buffer; readonly ifRevision: number }
  | { readonly kind: "delete"; readonly key: string; readonly ifRevision: number };

type WriteResult = CreateResult | UpdateResult | DeleteResult;

interface WriteDecision {
  result: WriteResult;
  /** Event of a successful write. */
  event?: StoreEvent;
}

/** Compare-and-set: computes the effect of a write on the current entry. */
function decideWrite(request: WriteRequest, current: Entry | undefined, nextRevision: number): WriteDecision {
  const { key } = request;
  switch (request.kind) {
    case "create": {
      if (current) return { result: { kind: "exists", current } };
      const entry = { key, value: request.value, revision: nextRevision };
      return {
        result: { kind: "created", revision: nextRevision },
        event: { kind: "put", entry, revision: nextRevision, previous: undefined },
      };
    }
    case "update": {
      if (current?.revision !== request.ifRevision) return { result: { kind: "conflict", current } };
      const entry = { key, value: request.value, revision: nextRevision };
      return {
        result: { kind: "updated", revision: nextRevision, previous: current },
        event: { kind: "put", entry, revision: nextRevision, previous: current },
      };
    }
    case "delete": {
      if (current?.revision !== request.ifRevision) return { result: { kind: "conflict", current } };
      return {
        result: { kind: "deleted", revision: nextRevision, previous: current },
        event: { kind: "delete", key, revision: nextRevision, previous: current },
      };
    }
  }
}

type Page = Pick<ListPage, "entries" | "more">;

/** Returns the first `limit` entries. */
function readPage(present: Iterable<Entry>, limit: number): Page {
  const entries: Entry[] = [];
  for (const entry of present) {
    if (entries.length >= limit) return { entries, more: true };
    entries.push(entry);
  }
  return { entries, more: false };
}

/** Returns the first `limit` entries of a past revision: the current entries with the changes in `undo` applied. */
function readPastPage(
  present: Iterable<Entry>,
  undo: ReadonlyMap<string, Entry | undefined>,
  options: { limit: number; after: string | undefined },
): Page {
  const restored = [...undo.values()]
    .filter((entry) => entry !== undefined)
    .filter((entry) => options.after === undefined || entry.key > options.after)
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  return readPage(merge(unchanged(present, undo), restored), options.limit);
}

function* unchanged(present: Iterable<Entry>, undo: ReadonlyMap<string, unknown>): Generator<Entry> {
  for (const entry of present) if (!undo.has(entry.key)) yield entry;
}

/** Merges two sorted runs of entries without common keys. */
function* merge(left: Iterable<Entry>, right: readonly Entry[]): Generator<Entry> {
  let next = 0;
  for (const entry of left) {
    for (let other = right[next]; other && other.key < entry.key; other = right[++next]) yield other;
    yield entry;
  }
  yield* right.slice(next);
}
