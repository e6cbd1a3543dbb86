import { crc32 } from "node:zlib";
import type { Entry, Store } from "../../src/store/store.ts";

const keys = Array.from({ length: 600 }, (_, i) => `/sample/${i % 7}/key-${i}`);
const sizes = [0, 20, 300, 1_000, 2_500, 9_000];
const compactTo = 300;

/** A store with rows of all sizes, a past, and free pages. */
export async function fillSample(store: Store): Promise<void> {
  await Promise.all(keys.map((key, i) => store.create(key, sampleValue(key, i))));
  await writeALittle(store, 2);
  await store.compact(compactTo);
  await writeALittle(store, 3);
}

/** Updates, deletes and recreates: enough to take pages from the free list and to split and merge others. */
export async function writeALittle(store: Store, step: number): Promise<void> {
  await Promise.all(
    keys.map(async (key, i) => {
      if (i % step !== 0) return;
      const current = await store.get(key);
      if (!current) await store.create(key, sampleValue(key, i + step));
      else if (i % 5 === 0) await store.delete(key, { ifRevision: current.revision });
      else await store.update(key, sampleValue(key, i + step), { ifRevision: current.revision });
    }),
  );
}

/** One number for all that the store answers: each key alone, all in a list, the past and the events since. */
export async function digest(store: Store): Promise<number> {
  let sum = 0;
  const add = (text: string) => {
    sum = crc32(text, sum);
  };
  const describe = (entry?: Entry) =>
    entry ? `${entry.key}@${entry.revision}=${crc32(entry.value)}` : "nothing";
  for (const key of keys) add(describe(await store.get(key)));
  for (const entry of (await store.list("/")).entries) add(describe(entry));
  for (const entry of (await store.list("/", { atRevision: compactTo })).entries) add(describe(entry));
  const last = await store.currentRevision();
  const signal = new AbortController().signal;
  for await (const event of store.watch("/", { fromRevision: compactTo + 1, signal })) {
    add(`${event.revision} ${event.kind} ${describe(event.previous)}`);
    if (event.kind === "put") add(describe(event.entry));
    if (event.revision === last) break;
  }
  return sum;
}

function sampleValue(key: string, seed: number): Buffer {
  return Buffer.alloc(sizes[seed % sizes.length] ?? 0, `${key}#${seed};`);
}
