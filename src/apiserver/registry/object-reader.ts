import type { Resource } from "../../api/resources.ts";
import type { Clock } from "../../lib/clock.ts";
import { eventKey, type Store } from "../../store/store.ts";
import { type CachedKind, CachedObject } from "../cache/cached-object.ts";
import type { KindCache } from "../cache/kind-cache.ts";
import type { WatchCache } from "../cache/watch-cache.ts";
import type { Change } from "../cache/watcher-index.ts";
import { keyPrefix } from "./object-key.ts";

/** Reads of many objects: the present from the cache, the past from the store. */
export interface ObjectReader {
  /** Other servers write too: the cache may be behind. */
  readonly shared: boolean;
  cache(resource: Resource): KindCache;
  revision(): number;
  latestRevision(): Promise<number>;
  /** Waits until the cache has reached the revision; false when that takes too long. */
  reached(revision: number, timeoutMs: number): Promise<boolean>;
  readAt(
    resource: Resource,
    prefix: string,
    options: { after: string | undefined; revision: number },
  ): AsyncGenerator<CachedObject>;
  /** Changes from the store's own log, for watches that begin before what the cache keeps. */
  changesFrom(resource: Resource, fromRevision: number, signal: AbortSignal): AsyncGenerator<Change>;
}

const pageSize = 1_000;

export function createObjectReader(deps: {
  store: Store;
  cache: WatchCache;
  clock: Clock;
  kindOf: (resource: Resource) => CachedKind;
}): ObjectReader {
  const { store, cache, clock, kindOf } = deps;
  return {
    shared: store.shared,
    cache: (resource) => cache.kind(resource.storedAs),
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
        for (const entry of page.entries) yield new CachedObject(kindOf(resource), entry);
        if (!page.more) return;
        last = page.entries.at(-1)?.key;
      }
    },

    async *changesFrom(resource, fromRevision, signal) {
      const kind = kindOf(resource);
      for await (const event of store.watch(keyPrefix(resource), { fromRevision, signal })) {
        const before = event.previous && new CachedObject(kind, event.previous);
        const after = event.kind === "put" ? new CachedObject(kind, event.entry) : undefined;
        yield { revision: event.revision, key: eventKey(event), before, after };
      }
    },
  };
}
