import type { CreateResult, DeleteResult, Store, StoreEvent, UpdateResult } from "../store.ts";
import { canBeKey, checkKey, checkValue, compacted, futureRevision, storeClosed } from "../store-error.ts";
import { decideWrite, type WriteRequest, type WriteResult } from "./decide-write.ts";
import type { Engine } from "./engine.ts";
import { undoTo } from "./event-log.ts";
import { readPage, readPastPage } from "./read-page.ts";
import { createWatchHub } from "./watch-hub.ts";

interface PendingWrite {
  request: WriteRequest;
  resolve(result: WriteResult): void;
  reject(error: unknown): void;
}

/** An engine has all of a group in memory until it is on disk. */
const maxGroupBytes = 8 * 2 ** 20;

/** A store in this process, over an engine that keeps the data. */
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

  /** Group commit: whatever asked to be written while the last group was on its way to disk is the next group. */
  async function commitAll(): Promise<void> {
    // Writers that ask in the same turn of the event loop share the first group too.
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
    // Watchers hear of a write before its writer does, so that who has written can rely on having been seen.
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
    // The results are of the kind that was asked for: decideWrite answers each request kind with its own.
    create: (key, value) => write({ kind: "create", key, value }) as Promise<CreateResult>,
    update: (key, value, { ifRevision }) =>
      write({ kind: "update", key, value, ifRevision }) as Promise<UpdateResult>,
    delete: (key, { ifRevision }) => write({ kind: "delete", key, ifRevision }) as Promise<DeleteResult>,

    async get(key, { atRevision } = {}) {
      checkOpen();
      if (atRevision !== undefined) checkReadable(atRevision);
      // An engine may write others down as if they were one of its keys.
      if (!canBeKey(key)) return undefined;
      if (atRevision === undefined) return engine.get(key);
      const undo = undoTo(engine, atRevision, key);
      return undo.has(key) ? undo.get(key) : engine.get(key);
    },

    async list(prefix, { limit = Number.POSITIVE_INFINITY, after, atRevision } = {}) {
      checkOpen();
      const revision = atRevision ?? engine.lastRevision();
      checkReadable(revision);
      if (!canBeKey(prefix)) return { entries: [], more: false, revision };
      const present = engine.range(prefix, after);
      if (revision === engine.lastRevision()) return { ...readPage(present, limit), revision };
      return { ...readPastPage(present, undoTo(engine, revision, prefix), { limit, after }), revision };
    },

    async *watch(prefix, options) {
      checkOpen();
      yield* hub.watch(prefix, options);
    },

    async compact(revision) {
      checkOpen();
      if (revision > engine.lastRevision()) throw futureRevision(revision, engine.lastRevision());
      // At the same revision too: an earlier call may have failed halfway.
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
