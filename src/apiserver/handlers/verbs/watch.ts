import type { Resource } from "../../../api/meta/resource.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { WatchSink } from "../../request/api-request.ts";
import { toStatusError } from "../../request/to-status-error.ts";
import type { CachedObject } from "../../storage/cached-object.ts";
import { keyPrefix } from "../../storage/object-key.ts";
import type { ObjectReader } from "../../storage/object-reader.ts";
import { matches, type ObjectSelector, scopeOf } from "../../storage/object-selector.ts";
import type { Change, WatchScope } from "../../storage/watcher-index.ts";
import type { WatchEncoder } from "../encoding/watch-encoder.ts";
import { listCached, prepare, waitForRevision } from "./list.ts";
import type { WatchOptions } from "./read-options.ts";

export interface WatchRequest {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
  readonly selector: ObjectSelector;
  readonly options: WatchOptions;
}

interface ScopedRequest extends WatchRequest {
  readonly scope: WatchScope;
}

export interface WatchDeps {
  reader: ObjectReader;
  clock: Clock;
  encoder: WatchEncoder;
  /** Calls back about once a minute while the watch runs. */
  everyMinute(callback: () => void): () => void;
}

/** Unread bytes at which a watch stops sending events and waits for its client. */
const maxBacklogBytes = 256 * 1_024;
/** The same for the initial objects of a watch, which are in the cache anyway. */
const maxInitialBacklogBytes = 16 * 1_024;

/** Changes that a watch takes from the cache at once while it catches up, which bounds the memory that it holds. */
const changesAtOnce = 100;

/**
 * Feeds one watch until its client goes or its time is over.
 *
 *     initial state ──▶ catching up ──▶ live
 *                           ▲            │ the client does not keep up
 *                           └────────────┘
 *
 * Catching up reads the changes that the cache keeps, or the store's log where those do not reach back far
 * enough, at the client's speed. Live, each change is written as it happens. A slow client therefore costs no
 * memory: it goes back to catching up, and gets `Expired` when even the store has forgotten what it lacks.
 */
export async function runWatch(deps: WatchDeps, request: WatchRequest, sink: WatchSink): Promise<void> {
  const { resource, namespace, name, selector } = request;
  const cancelTimeout = endAfterTimeout(deps, request.options, sink);
  try {
    await feed(deps, { ...request, scope: scopeOf(selector, resource, namespace, name) }, sink);
  } catch (error) {
    if (sink.closed.aborted) return;
    sink.write(deps.encoder.error(toStatusError(error)));
    sink.end();
  } finally {
    cancelTimeout();
  }
}

async function feed(deps: WatchDeps, request: ScopedRequest, sink: WatchSink): Promise<void> {
  let position = await startPosition(deps, request, sink);
  while (!sink.closed.aborted) {
    position = await catchUp(deps, request, sink, position);
    // No await since the cache had no more changes, so that none is missed between catching up and live.
    position = await live(deps, request, sink, position);
    await sink.drained();
  }
}

/** Writes the initial state if the watch starts with it. Returns the revision after which changes follow. */
async function startPosition(deps: WatchDeps, request: ScopedRequest, sink: WatchSink): Promise<number> {
  const { reader, encoder } = deps;
  const { start } = request.options;
  if (start.kind === "after") return start.revision;
  if (start.kind === "changes") return reader.shared ? reader.latestRevision() : reader.revision();
  if (start.kind === "initialEvents") await waitForRevision(reader, start.revision);

  // With other servers, only the store has the current revision; the cache reaches it later.
  const fromStore = reader.shared && start.kind !== "any";
  const revision = fromStore
    ? await writeStored(deps, request, sink)
    : await writeCached(deps, request, sink);
  if (start.kind === "initialEvents" && request.options.bookmarks && !sink.closed.aborted) {
    sink.write(encoder.bookmark(revision, { initialEventsEnd: true }));
  }
  return revision;
}

async function writeStored(deps: WatchDeps, request: ScopedRequest, sink: WatchSink): Promise<number> {
  const revision = await deps.reader.latestRevision();
  await writeAdded(deps, storedObjects(deps.reader, request, revision), sink);
  return revision;
}

async function writeCached(deps: WatchDeps, request: ScopedRequest, sink: WatchSink): Promise<number> {
  const { reader } = deps;
  const { resource, selector, scope } = request;
  const preparedPrefix = scope.kind === "object" ? scope.key : prefixOf(request);
  await prepare(() => reader.prepareRange(resource, preparedPrefix));
  const revision = reader.revision();
  if (scope.kind === "object") {
    const object = reader.cache(resource).get(scope.key);
    if (object && matches(selector, object)) await writeAdded(deps, [object], sink);
    return revision;
  }
  // Only references are held: cached objects are immutable, however long the client takes.
  const { items } = listCached(reader, { resource, prefix: prefixOf(request), selector });
  const bytes = 8 * items.length;
  sink.hold(items, bytes);
  try {
    await writeAdded(deps, items, sink);
  } finally {
    sink.release(items, bytes);
  }
  return revision;
}

/** Writes an ADDED event for each object, at the client's speed. */
async function writeAdded(
  { encoder }: WatchDeps,
  objects: Iterable<CachedObject> | AsyncIterable<CachedObject>,
  sink: WatchSink,
): Promise<void> {
  for await (const object of objects) {
    sink.write(encoder.added(object));
    if (sink.backlog() > maxInitialBacklogBytes) await sink.drained();
    if (sink.closed.aborted) return;
  }
}

async function* storedObjects(
  reader: ObjectReader,
  request: ScopedRequest,
  revision: number,
): AsyncGenerator<CachedObject> {
  for await (const object of reader.readAt(request.resource, prefixOf(request), {
    after: undefined,
    revision,
  })) {
    if (isInScope(request, object.key) && matches(request.selector, object)) yield object;
  }
}

function prefixOf(request: ScopedRequest): string {
  const { scope } = request;
  return scope.kind === "namespace" ? scope.prefix : keyPrefix(request.resource);
}

async function catchUp(
  deps: WatchDeps,
  request: ScopedRequest,
  sink: WatchSink,
  from: number,
): Promise<number> {
  let position = from;
  while (!sink.closed.aborted) {
    const preparing = deps.reader.prepareChanges(request.resource, position, changesAtOnce);
    if (preparing) {
      await preparing;
      continue;
    }
    const changes = deps.reader.cache(request.resource).changesAfter(position, changesAtOnce);
    if (changes?.length === 0) return position;
    for await (const change of changes ?? olderChanges(deps, request, sink, position)) {
      deliver(deps, request, sink, change);
      position = change.revision;
      if (sink.backlog() > maxBacklogBytes) await sink.drained();
      if (sink.closed.aborted) return position;
    }
  }
  return position;
}

/** Changes from the store's log, up to the first change that the cache keeps. */
async function* olderChanges(
  deps: WatchDeps,
  request: ScopedRequest,
  sink: WatchSink,
  position: number,
): AsyncGenerator<Change> {
  const { reader } = deps;
  for await (const change of reader.changesFrom(request.resource, position + 1, sink.closed)) {
    yield change;
    if (reader.cache(request.resource).changesAfter(change.revision, 1)) return;
  }
}

/** Writes changes as they happen. Resolves with the last revision when the client disconnects or falls behind. */
function live(deps: WatchDeps, request: ScopedRequest, sink: WatchSink, from: number): Promise<number> {
  const { reader, encoder } = deps;
  const { resource, options } = request;
  return new Promise((resolve) => {
    let position = from;
    const stop = () => {
      unsubscribe();
      stopBookmarks();
      sink.closed.removeEventListener("abort", stop);
      resolve(position);
    };
    const unsubscribe = reader.watchChanges(resource, request.scope, {
      onChange(change) {
        if (change.revision <= position) return;
        deliver(deps, request, sink, change);
        position = change.revision;
        if (sink.backlog() > maxBacklogBytes) stop();
      },
      // Catching up converts it.
      onUnprepared: () => stop(),
    });
    const stopBookmarks = deps.everyMinute(() => {
      // Bookmarks show a watch without events its position, so that it can resume there.
      position = Math.max(position, reader.revision());
      if (options.bookmarks) sink.write(encoder.bookmark(position));
    });
    if (sink.closed.aborted) stop();
    else sink.closed.addEventListener("abort", stop, { once: true });
  });
}

function deliver({ encoder }: WatchDeps, request: ScopedRequest, sink: WatchSink, change: Change): void {
  if (!isInScope(request, change.key)) return;
  const { selector } = request;
  const before = change.before && matches(selector, change.before) ? change.before : undefined;
  const after = change.after && matches(selector, change.after) ? change.after : undefined;
  if (after) sink.write(before ? encoder.modified(after) : encoder.added(after));
  // An object that no longer matches is deleted as far as this watch is concerned.
  else if (before) sink.write(encoder.deleted(before, change.revision));
}

function isInScope(request: ScopedRequest, key: string): boolean {
  const { scope } = request;
  if (scope.kind === "object") return key === scope.key;
  return scope.kind !== "namespace" || key.startsWith(scope.prefix);
}

/** Maximum delay of a timer in Node.js, 24 days. A longer one would fire immediately. */
const maxTimerMs = 2 ** 31 - 1;

/** Time before the end of a watch from which it has its own timer. More than a minute, so that the end is exact. */
const ownTimerMs = 120_000;

/**
 * Ends the watch after its timeout. Returns a function that cancels this. A timer with its promise and abort listener
 * takes 1 KiB, so that a watch gets one only shortly before its end.
 */
function endAfterTimeout(
  { clock, everyMinute }: Pick<WatchDeps, "clock" | "everyMinute">,
  options: WatchOptions,
  sink: WatchSink,
): () => void {
  const endMs = clock.now() + watchTimeoutMs(options);
  const check = () => {
    const leftMs = endMs - clock.now();
    if (leftMs > ownTimerMs) return;
    cancel();
    clock.sleep(Math.max(0, leftMs), sink.closed).then(
      () => sink.end(),
      () => {},
    );
  };
  const cancel = everyMinute(check);
  check();
  return cancel;
}

/** Watches end after 30 to 60 minutes, so that clients are distributed over servers again. */
function watchTimeoutMs(options: WatchOptions): number {
  if (options.timeoutSeconds) return Math.min(options.timeoutSeconds * 1_000, maxTimerMs);
  return (30 + 30 * Math.random()) * 60_000;
}
