import { expect, test } from "vitest";
import type { Store, StoreEvent } from "../store.ts";
import { createMemoryStore } from "./memory-store.ts";

const { signal } = new AbortController();

test("a watch from the revision of an empty store waits for the first event", async () => {
  const store = createMemoryStore();
  const events = watch(store, 1);
  const first = events.next();
  await store.create("/a", Buffer.from("1"));
  expect((await first).value).toMatchObject({ revision: 2 });
});

test("a replay fails when its next events are compacted instead of skipping them", async () => {
  const store = createMemoryStore();
  // More than one chunk of the log.
  for (let i = 0; i < 1_500; i++) await store.create(`/${i}`, Buffer.from("1"));
  const events = watch(store, 2);
  for (let revision = 2; revision <= 1_001; revision++) {
    expect((await events.next()).value).toMatchObject({ revision });
  }
  await store.compact(1_200);
  await expect(events.next()).rejects.toMatchObject({ code: "compacted" });
});

test("a replay continues when the compaction ends at the reader's position", async () => {
  const store = createMemoryStore();
  for (let i = 0; i < 1_500; i++) await store.create(`/${i}`, Buffer.from("1"));
  const events = watch(store, 2);
  for (let revision = 2; revision <= 1_001; revision++) await events.next();
  await store.compact(1_001);
  expect((await events.next()).value).toMatchObject({ revision: 1_002 });
});

test("a replay ends when the store is closed", async () => {
  const store = createMemoryStore();
  for (let i = 0; i < 10; i++) await store.create(`/${i}`, Buffer.from("1"));
  const events = watch(store, 2);
  await events.next();
  await store.close();
  await expect(events.next()).rejects.toMatchObject({ code: "closed" });
});

function watch(store: Store, fromRevision: number): AsyncIterator<StoreEvent> {
  return store.watch("/", { fromRevision, signal })[Symbol.asyncIterator]();
}
