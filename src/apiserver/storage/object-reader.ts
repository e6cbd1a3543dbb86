import type { Resource } from "../../api/meta/resource.ts";
import type { Clock } from "../../lib/clock.ts";
import { eventKey, type Store } from "../../store/store.ts";
import { CachedObject } from "./cached-object.ts";
import type { KindCache } from "./kind-cache.ts";
import { keyPrefix } from "./object-key.ts";
import type { WatchCache } from "./watch-cache.ts";
import type { Change, ChangeListener, WatchScope } from "./watcher-index.ts";

/** Reads lists of objects: current ones from the cache, past ones from the store. */
export interface ObjectReader {
  /** True when other servers write to the store: the cache may lag behind. */
  readonly shared: boolean;
  cache(resource: Resource): KindCache;
  /**
   * Converts the objects with the prefix that only a webhook can convert, so that `cache` can serve them. Undefined when
   * there are none: callers repeat it until then, because objects may change while they wait.
   */
  prepareRange(resource: Resource, prefix: string): Promise<void> | undefined;
  /** The same for the kept changes after a revision. */
  prepareChanges(resource: Resource, after: number, limit: number): Promise<void> | undefined;
  /** Watches the cache. `onUnprepared` is called instead of the listener for a change that has to be prepared. */
  watchChanges(
    resource: Resource,
    scope: WatchScope,
    listeners: { onChange: ChangeListener; onUnprepared: () => void },
  ): () => void;
  revision(): number;
  latestRevision(): Promise<number>;
  /** Waits until the cache has reached the revision. Resolves to false on timeout. */
  reached(revision: number, timeoutMs: number): Promise<boolean>;
  readAt(
    resource: Resource,
    prefix: string,
    options: { after: string | undefined; revision: number },
  ): AsyncGenerator<CachedObject>;
  /** Changes from the store's log, for watches that begin before the changes that the cache keeps. */
  changesFrom(resource: Resource, fromRevision: number, signal: AbortSignal): AsyncGenerator<Change>;
}

const pageSize = 1_000;

export function createObjectReader(deps: { store: Store; cache: WatchCache; clock: Clock }): ObjectReader {
  const { store, cache, clock } = deps;
  return {
    shared: store.shared,
    cache: (resource) => cache.view(resource)?.cache ?? cache.kind(resource.storedAs),
    prepareRange(resource, prefix) {
      const view = cache.view(resource);
      if (!view?.needsPreparation(view.base.range(prefix))) return undefined;
      return view.prepare(view.base.range(prefix));
    },
    prepareChanges(resource, after, limit) {
      const view = cache.view(resource);
      const changes = view?.base.changesAfter(after, limit) ?? [];
      const objects = changes.flatMap((change) => [change.before, change.after]);
      return view?.needsPreparation(objects) ? view.prepare(objects) : undefined;
    },
    watchChanges(resource, scope, { onChange, onUnprepared }) {
      const view = cache.view(resource);
      if (!view) return cache.kind(resource.storedAs).watch(scope, onChange);
      return view.base.watch(scope, (change) => {
        if (view.needsPreparation([change.before, change.after])) onUnprepared();
        else onChange(view.servedChange(change));
      });
    },
    revision: () => cache.revision(),
    latestRevision: () => store.currentRevision(),

    async reached(revision, timeoutMs) {
      if (revision <= cache.revision()) return true;
      const done = new AbortController();
      const late = clock.sleep(timeoutMs, done.signal).then(
        () => false,
        () => true,
      );
      const inTime = await Promise.race([cache.reached(revision).then(() => true), late]);
      done.abort();
      return inTime;
    },

    async *readAt(resource, prefix, { after, revision }) {
      let last = after;
      for (;;) {
        const page = await store.list(prefix, { limit: pageSize, after: last, atRevision: revision });
        const objects = page.entries.map(
          (entry) => new CachedObject(cache.cachedKind(resource.storedAs), entry),
        );
        const view = cache.view(resource);
        if (view) await view.prepare(objects);
        for (const object of objects) yield view ? view.served(object) : object;
        if (!page.more) return;
        last = page.entries.at(-1)?.key;
      }
    },

    async *changesFrom(resource, fromRevision, signal) {
      const kind = cache.cachedKind(resource.storedAs);
      for await (const event of store.watch(keyPrefix(resource), { fromRevision, signal })) {
        const before = event.previous && new CachedObject(kind, event.previous);
        const after = event.kind === "put" ? new CachedObject(kind, event.entry) : undefined;
        const change = { revision: event.revision, key: eventKey(event), before, after };
        const view = cache.view(resource);
        if (view) await view.prepare([before, after]);
        yield view ? view.servedChange(change) : change;
      }
    },
  };
}
