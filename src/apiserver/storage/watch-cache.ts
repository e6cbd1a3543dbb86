import type { KindDefinition } from "../../api/kinds/kind-definition.ts";
import type { Resource } from "../../api/meta/resource.ts";
import { retry } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { type Entry, eventKey, type Store, type StoreEvent } from "../../store/store.ts";
import type { KindRegistry } from "../kinds/kind-registry.ts";
import { type CachedKind, cachedKind } from "./cached-object.ts";
import { createKindCache, type KindCache } from "./kind-cache.ts";
import { keyPrefix, registryPrefix, storageNameOf } from "./object-key.ts";
import { createServedView, type ServedView } from "./served-view.ts";

/** All objects of the registered kinds in memory, kept current by one watch of the store. */
export interface WatchCache {
  /** The revision up to which the cache is complete. */
  revision(): number;
  kind(storedAs: string): KindCache;
  cachedKind(storedAs: string): CachedKind;
  /** View in the version of the resource. Undefined for kinds that serve their objects as they are stored. */
  view(resource: Resource): ServedView | undefined;
  /** One cache for each storage location, with the resource under which its objects are stored. */
  kinds(): readonly CachedKind[];
  /** Resolves once the cache has reached the revision. */
  reached(revision: number): Promise<void>;
  /** Follows the store until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

interface WatchCacheDeps {
  store: Store;
  clock: Clock;
  logger: Logger;
  kinds: KindRegistry;
}

/** Cache of one storage location. Kinds that serve the same objects share it. */
interface LoadedKind {
  readonly cached: CachedKind;
  readonly cache: KindCache;
  /** Events up to this revision are contained in the loaded objects. */
  readonly loadedAt: number;
  readonly definitions: Set<KindDefinition>;
  /** Views by version. */
  readonly views: Map<string, ServedView>;
}

const pageSize = 5_000;
const resyncBackoff = { initialMs: 50, maxMs: 5_000, factor: 2, resetAfterMs: 30_000 };

/**
 * Loads the whole store; the cache is complete when this resolves. Kinds that are added to the registry later are
 * loaded before they are served; the cache of a removed kind is dropped.
 */
export async function loadWatchCache(deps: WatchCacheDeps): Promise<WatchCache> {
  const { store, clock, logger } = deps;
  let waiters: { revision: number; resolve: () => void }[] = [];
  const first = await readAll(store, registryPrefix);
  let revision = first.revision;
  const kinds = new Map<string, LoadedKind>();
  let resyncs = 0;
  /** Events of storage locations that are being loaded. */
  const loading = new Map<string, StoreEvent[]>();
  for (const definition of deps.kinds.list()) insert(definition, revision);
  for (const entry of first.entries) kinds.get(storageNameOf(entry.key))?.cache.put(entry, entry.revision);

  function insert(definition: KindDefinition, loadedAt: number): LoadedKind {
    const { resource, strategy, conversion } = definition;
    let kind = kinds.get(resource.storedAs);
    if (!kind) {
      const cached = conversion
        ? cachedKind(resource, {}, { storedVersions: "several" })
        : cachedKind(resource, strategy.selectableFields);
      const cache = createKindCache(cached, loadedAt);
      kind = { cached, cache, loadedAt, definitions: new Set(), views: new Map() };
      kinds.set(resource.storedAs, kind);
    }
    kind.definitions.add(definition);
    const view = createServedView(definition, kind.cache);
    if (view) kind.views.set(resource.version, view);
    return kind;
  }

  /** Loads the objects of a kind that is added while the cache follows the store. */
  async function load(definition: KindDefinition): Promise<void> {
    const { storedAs } = definition.resource;
    if (kinds.has(storedAs)) {
      insert(definition, revision);
      return;
    }
    const missed: StoreEvent[] = [];
    loading.set(storedAs, missed);
    try {
      let objects: Awaited<ReturnType<typeof readAll>>;
      let resyncsBefore: number;
      // A resync skips events: those of this kind would be lost.
      do {
        resyncsBefore = resyncs;
        missed.length = 0;
        objects = await readAll(store, keyPrefix(definition.resource));
      } while (resyncs !== resyncsBefore);
      const kind = insert(definition, objects.revision);
      for (const entry of objects.entries) kind.cache.put(entry, entry.revision);
      for (const event of missed) apply(kind, event);
    } finally {
      loading.delete(storedAs);
    }
  }

  function drop(definition: KindDefinition): void {
    const { storedAs } = definition.resource;
    const kind = kinds.get(storedAs);
    if (!kind?.definitions.delete(definition)) return;
    const { version } = definition.resource;
    const replaced = [...kind.definitions].some(({ resource }) => resource.version === version);
    if (!replaced) kind.views.delete(version);
    if (kind.definitions.size === 0) kinds.delete(storedAs);
  }

  function apply({ cache, loadedAt }: LoadedKind, event: StoreEvent): void {
    if (event.revision <= loadedAt) return;
    if (event.kind === "put") cache.put(event.entry, event.revision);
    else cache.remove(event.key, event.revision);
  }

  deps.kinds.onChange(({ type, definition }) => {
    if (type === "adding") return load(definition);
    if (type === "removed") drop(definition);
  });

  function advanceTo(reached: number): void {
    revision = reached;
    if (waiters.length === 0) return;
    for (const waiter of waiters) if (waiter.revision <= revision) waiter.resolve();
    waiters = waiters.filter((waiter) => waiter.revision > revision);
  }

  async function follow(signal: AbortSignal): Promise<void> {
    for await (const event of store.watch(registryPrefix, { fromRevision: revision + 1, signal })) {
      const storedAs = storageNameOf(eventKey(event));
      const kind = kinds.get(storedAs);
      if (kind) apply(kind, event);
      else if (loading.size > 0) loading.get(storedAs)?.push(event);
      advanceTo(event.revision);
    }
  }

  /** After a lost watch: applies the difference between the store and the cache as changes, so that watches miss none. */
  async function resync(): Promise<void> {
    const now = await readAll(store, registryPrefix);
    resyncs++;
    const present = new Set<string>();
    for (const entry of now.entries) {
      present.add(entry.key);
      const cache = kinds.get(storageNameOf(entry.key))?.cache;
      if (cache && cache.get(entry.key)?.revision !== entry.revision) cache.put(entry, entry.revision);
    }
    for (const { cache } of kinds.values()) {
      for (const object of [...cache.range("")])
        if (!present.has(object.key)) cache.remove(object.key, now.revision);
    }
    advanceTo(now.revision);
  }

  function loadedKind(storedAs: string): LoadedKind {
    const kind = kinds.get(storedAs);
    if (!kind) throw new Error(`no registered kind is stored as ${storedAs}`);
    return kind;
  }

  return {
    revision: () => revision,
    kind: (storedAs) => loadedKind(storedAs).cache,
    cachedKind: (storedAs) => loadedKind(storedAs).cached,
    view: ({ storedAs, version }) => kinds.get(storedAs)?.views.get(version),
    kinds: () => [...kinds.values()].map(({ cached }) => cached),
    async reached(wanted) {
      if (wanted <= revision) return;
      await new Promise<void>((resolve) => waiters.push({ revision: wanted, resolve }));
    },
    async run(signal) {
      while (!signal.aborted) {
        try {
          await follow(signal);
        } catch (error) {
          if (signal.aborted) return;
          logger.warn("lost the store's watch; reading everything again", { error });
          await retry(resync, { policy: resyncBackoff, clock, signal }).catch((failure) => {
            if (!signal.aborted) throw failure;
          });
        }
      }
    },
  };
}

async function readAll(store: Store, prefix: string): Promise<{ entries: Entry[]; revision: number }> {
  const entries: Entry[] = [];
  let page = await store.list(prefix, { limit: pageSize });
  const { revision } = page;
  for (;;) {
    for (const entry of page.entries) entries.push(entry);
    if (!page.more) return { entries, revision };
    page = await store.list(prefix, {
      limit: pageSize,
      after: page.entries.at(-1)?.key,
      atRevision: revision,
    });
  }
}
