import { setMaxListeners } from "node:events";
import type { Store } from "../../src/store/store.ts";
import { ratePerSecond } from "./load.ts";

const value = Buffer.alloc(1_024, 1);
const maxWriters = 1_000;
const events = 200;
const pageSize = 10_000;

/** Operations that a benchmark measures on a store. */
export interface StoreLoad {
  /** Updates of 1 KiB; each writer has its own key. */
  putsPerSecond(writers: number): Promise<number>;
  /** Lists all keys in pages. */
  listedPerSecond(): Promise<number>;
  /** Measures from the first write until every watcher has received every event. */
  deliveriesPerSecond(watchers: number): Promise<number>;
}

/** Fills the store and returns the operations. */
export async function createStoreLoad(store: Store, { keys }: { keys: number }): Promise<StoreLoad> {
  const revisions: number[] = [];
  await each(maxWriters, async (i) => {
    revisions[i] = await create(store, `/bench/put/${i}`);
  });
  await each(keys, (i) => create(store, `/bench/list/${i}`));
  let watchRound = 0;

  return {
    putsPerSecond: (writers: number) =>
      ratePerSecond(writers, async (writer) => {
        const ifRevision = revisions[writer] ?? 0;
        const result = await store.update(`/bench/put/${writer}`, value, { ifRevision });
        if (result.kind !== "updated")
          throw new Error(`a write lost a compare-and-set although there is one writer`);
        revisions[writer] = result.revision;
      }),

    async listedPerSecond() {
      const start = performance.now();
      let listed = 0;
      let after: string | undefined;
      let atRevision: number | undefined;
      for (let more = true; more; ) {
        const page = await store.list("/bench/list/", { limit: pageSize, after, atRevision });
        ({ more, revision: atRevision } = page);
        after = page.entries.at(-1)?.key;
        listed += page.entries.length;
      }
      if (listed !== keys) throw new Error(`listed ${listed} of ${keys} keys`);
      return (1_000 * listed) / (performance.now() - start);
    },

    async deliveriesPerSecond(watchers: number) {
      const prefix = `/bench/watch/${watchRound++}/`;
      const done = new AbortController();
      setMaxListeners(0, done.signal);
      const fromRevision = (await store.currentRevision()) + 1;
      const watching = Array.from({ length: watchers }, async () => {
        let seen = 0;
        for await (const _event of store.watch(prefix, { fromRevision, signal: done.signal })) {
          if (++seen === events) return;
        }
      });
      const start = performance.now();
      await each(events, (i) => create(store, `${prefix}${i}`));
      await Promise.all(watching);
      const seconds = (performance.now() - start) / 1_000;
      done.abort();
      return (watchers * events) / seconds;
    },
  };
}

async function create(store: Store, key: string): Promise<number> {
  const result = await store.create(key, value);
  if (result.kind !== "created") throw new Error(`${key} exists`);
  return result.revision;
}

/** Calls `act` for 0 to count - 1, a thousand at a time. */
async function each(count: number, act: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const work = async () => {
    while (next < count) await act(next++);
  };
  await Promise.all(Array.from({ length: Math.min(count, 1_000) }, work));
}
