import type { Resource } from "../../api/resources.ts";
import type { Clock } from "../../lib/clock.ts";
import type { WatchSink } from "../api-request.ts";
import type { CachedObject } from "../cache/cached-object.ts";
import type { Change, WatchScope } from "../cache/watcher-index.ts";
import { keyPrefix } from "../registry/object-key.ts";
import type { ObjectReader } from "../registry/object-reader.ts";
import { matches, type ObjectSelector, scopeOf } from "../registry/object-selector.ts";
import type { WatchPresenter } from "../representation/watch-presenter.ts";
import { toStatusError } from "../to-status-error.ts";
import { waitForRevision } from "./list.ts";
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
  presenter: WatchPresenter;
  /** Calls back about once a minute while the watch runs. */
  everyMinute(callback: () => void): () => void;
}

/** A client may leave this much unread before the watch stops feeding it and waits. */
const maxBacklogBytes = 1_024 * 1_024;

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
  const { clock } = deps;
  const { resource, namespace, name, selector } = request;
  const timeOver = clock.sleep(watchTimeoutMs(request.options), sink.closed).then(() => sink.end());
  timeOver.catch(() => {});
  try {
    await feed(deps, { ...request, scope: scopeOf(selector, resource, namespace, name) }, sink);
  } catch (error) {
    if (sink.closed.aborted) return;
    sink.write(deps.presenter.error(toStatusError(error)));
    sink.end();
  }
}

async function feed(deps: WatchDeps, request: ScopedRequest, sink: WatchSink): Promise<void> {
  let position = await startPosition(deps, request, sink);
  while (!sink.closed.aborted) {
    position = await catchUp(deps, request, sink, position);
    // Nothing was awaited since the cache had no more changes: none can fall between catching up and live.
    position = await live(deps, request, sink, position);
    await sink.drained();
  }
}

/** Writes the initial state where the watch wants it, and answers with the revision after which changes follow. */
async function startPosition(deps: WatchDeps, request: ScopedRequest, sink: WatchSink): Promise<number> {
  const { reader, presenter } = deps;
  const { start } = request.options;
  if (start.kind === "after") return start.revision;
  if (start.kind === "changes") return reader.shared ? reader.latestRevision() : reader.revision();
  if (start.kind === "initialEvents") await waitForRevision(reader, start.revision);

  // Where others write too, only the store knows the present; the cache will come to it later.
  const fromStore = reader.shared && start.kind !== "any";
  const revision = fromStore ? await reader.latestRevision() : reader.revision();
  // References only: the objects do not change under us, however long the client takes.
  const objects = fromStore ? storedObjects(reader, request, revision) : [...cachedObjects(reader, request)];
  for await (const object of objects) {
    sink.write(presenter.added(object));
    if (sink.backlog() > maxBacklogBytes) await sink.drained();
    if (sink.closed.aborted) return revision;
  }
  if (start.kind === "initialEvents" && request.options.bookmarks) {
    sink.write(presenter.bookmark(revision, { initialEventsEnd: true }));
  }
  return revision;
}

function* cachedObjects(reader: ObjectReader, request: ScopedRequest): Generator<CachedObject> {
  const cache = reader.cache(request.resource);
  const { scope } = request;
  if (scope.kind === "object") {
    const object = cache.get(scope.key);
    if (object && matches(request.selector, object)) yield object;
    return;
  }
  for (const object of cache.range(prefixOf(request))) if (matches(request.selector, object)) yield object;
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
    const changes = deps.reader.cache(request.resource).changesAfter(position);
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

/** From the store's log, up to where the cache's own memory of changes begins. */
async function* olderChanges(
  deps: WatchDeps,
  request: ScopedRequest,
  sink: WatchSink,
  position: number,
): AsyncGenerator<Change> {
  const { reader } = deps;
  for await (const change of reader.changesFrom(request.resource, position + 1, sink.closed)) {
    yield change;
    if (reader.cache(request.resource).changesAfter(change.revision)) return;
  }
}

/** Writes changes as they happen; resolves with the last one's revision when the client goes or falls behind. */
function live(deps: WatchDeps, request: ScopedRequest, sink: WatchSink, from: number): Promise<number> {
  const { reader, presenter } = deps;
  const { resource, options } = request;
  return new Promise((resolve) => {
    let position = from;
    const stop = () => {
      unsubscribe();
      stopBookmarks();
      sink.closed.removeEventListener("abort", stop);
      resolve(position);
    };
    const unsubscribe = reader.cache(resource).watch(request.scope, (change) => {
      if (change.revision <= position) return;
      deliver(deps, request, sink, change);
      position = change.revision;
      if (sink.backlog() > maxBacklogBytes) stop();
    });
    const stopBookmarks = deps.everyMinute(() => {
      // Without events of its own a watch still learns how far it has come, so that it need not start over later.
      position = Math.max(position, reader.revision());
      if (options.bookmarks) sink.write(presenter.bookmark(position));
    });
    if (sink.closed.aborted) stop();
    else sink.closed.addEventListener("abort", stop, { once: true });
  });
}

function deliver({ presenter }: WatchDeps, request: ScopedRequest, sink: WatchSink, change: Change): void {
  if (!isInScope(request, change.key)) return;
  const { selector } = request;
  const before = change.before && matches(selector, change.before) ? change.before : undefined;
  const after = change.after && matches(selector, change.after) ? change.after : undefined;
  if (after) sink.write(before ? presenter.modified(after) : presenter.added(after));
  // An object that no longer matches is deleted as far as this watch is concerned.
  else if (before) sink.write(presenter.deleted(before, change.revision));
}

function isInScope(request: ScopedRequest, key: string): boolean {
  const { scope } = request;
  if (scope.kind === "object") return key === scope.key;
  return scope.kind !== "namespace" || key.startsWith(scope.prefix);
}

/** 24 days: a longer timer would ring at once. */
const maxTimerMs = 2 ** 31 - 1;

/** Watches end after half an hour to an hour, so that clients spread themselves over servers again. */
function watchTimeoutMs(options: WatchOptions): number {
  if (options.timeoutSeconds) return Math.min(options.timeoutSeconds * 1_000, maxTimerMs);
  return (30 + 30 * Math.random()) * 60_000;
}
