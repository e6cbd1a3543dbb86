import { retry } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { type Entry, eventKey, type Store } from "../../store/store.ts";
import { registryPrefix, storageNameOf } from "../registry/object-key.ts";
import type { CachedKind } from "./cached-object.ts";
import { createKindCache, type KindCache } from "./kind-cache.ts";

/** Everything in the store, in memory, kept current by one watch. */
export interface WatchCache {
  /** The revision up to which the cache is complete. */
  revision(): number;
  kind(storedAs: string): KindCache;
  /** Resolves once the cache has reached the revision. */
  reached(revision: number): Promise<void>;
  /** Follows the store until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

interface WatchCacheDeps {
  store: Store;
  clock: Clock;
  logger: Logger;
  kinds: readonly CachedKind[];
}

const pageSize = 5_000;
const resyncBackoff = { initialMs: 50, maxMs: 5_000, factor: 2, resetAfterMs: 30_000 };

/** Loads the whole store; the cache is complete when this resolves. */
export async function loadWatchCache(deps: WatchCacheDeps): Promise<WatchCache> {
  const { store, clock, logger } = deps;
  let waiters: { revision: number; resolve: () => void }[] = [];
  const first = await readAll(store);
  let revision = first.revision;
  const kinds = new Map(deps.kinds.map((kind) => [kind.resource.storedAs, createKindCache(kind, revision)]));
  for (const entry of first.entries) kinds.get(storageNameOf(entry.key))?.put(entry, entry.revision);

  function advanceTo(reached: number): void {
    revision = reached;
    if (waiters.length === 0) return;
    for (const waiter of waiters) if (waiter.revision <= revision) waiter.resolve();
    waiters = waiters.filter((waiter) => waiter.revision > revision);
  }

  async function follow(signal: AbortSignal): Promise<void> {
    for await (const event of store.watch(registryPrefix, { fromRevision: revision + 1, signal })) {
      const kind = kinds.get(storageNameOf(eventKey(event)));
      if (event.kind === "put") kind?.put(event.entry, event.revision);
      else kind?.remove(event.key, event.revision);
      advanceTo(event.revision);
    }
  }

  /** After a lost watch: the difference between the store and the cache becomes changes, so that watchers miss nothing. */
  async function resync(): Promise<void> {
    const now = await readAll(store);
    const present = new Set<string>();
    for (const entry of now.entries) {
      present.add(entry.key);
      const kind = kinds.get(storageNameOf(entry.key));
      if (kind && kind.get(entry.key)?.revision !== entry.revision) kind.put(entry, entry.revision);
    }
    for (const kind of kinds.values()) {
      for (const object of [...kind.range("")])
        if (!present.has(object.key)) kind.remove(object.key, now.revision);
    }
    advanceTo(now.revision);
  }

  return {
    revision: () => revision,
    kind(storedAs) {
      const kind = kinds.get(storedAs);
      if (!kind) throw new Error(`no kind is stored as ${storedAs}`);
      return kind;
    },
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

async function readAll(store: Store): Promise<{ entries: Entry[]; revision: number }> {
  const entries: Entry[] = [];
  let page = await store.list(registryPrefix, { limit: pageSize });
  const { revision } = page;
  for (;;) {
    for (const entry of page.entries) entries.push(entry);
    if (!page.more) return { entries, revision };
    page = await store.list(registryPrefix, {
      limit: pageSize,
      after: page.entries.at(-1)?.key,
      atRevision: revision,
    });
  }
}
