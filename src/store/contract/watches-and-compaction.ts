import { describe, expect, test } from "vitest";
import {
  bytes,
  collect,
  created,
  describeEvent,
  expectCode,
  range,
  type StoreFixture,
  take,
} from "./store-fixture.ts";

export function describeWatches(fixture: () => StoreFixture): void {
  describe("watch", () => {
    test("delivers changes as they happen, with previous values", async () => {
      const { store, watch } = fixture();
      const events = take(watch("/p/", { fromRevision: 2 }), 3);
      await created(store, "/p/a", "1");
      await created(store, "/other", "x");
      await store.update("/p/a", bytes("2"), { ifRevision: 2 });
      await store.delete("/p/a", { ifRevision: 4 });
      expect((await events).map(describeEvent)).toEqual([
        "2 put /p/a=1",
        "4 put /p/a=2 was 1@2",
        "5 delete /p/a was 2@4",
      ]);
    });

    test("replays history from a revision, then continues live without gaps or duplicates", async () => {
      const { store, watch } = fixture();
      for (const i of range(30)) await created(store, `/p/${i}`, "v");
      const events = take(watch("/p/", { fromRevision: 10 }), 52);
      for (const i of range(30)) await created(store, `/p/x${i}`, "v");
      expect((await events).map((event) => event.revision)).toEqual(range(52).map((i) => i + 10));
    });

    test("a watch from a future revision waits for it", async () => {
      const { store, watch } = fixture();
      const events = take(watch("/", { fromRevision: 4 }), 1);
      for (const i of range(3)) await created(store, `/${i}`, "v");
      expect((await events).map(describeEvent)).toEqual(["4 put /2=v"]);
    });

    test("a recreated key has no previous value", async () => {
      const { store, watch } = fixture();
      await created(store, "/a", "1");
      await store.delete("/a", { ifRevision: 2 });
      await created(store, "/a", "2");
      const events = await take(watch("/a", { fromRevision: 2 }), 3);
      expect(events.map(describeEvent)).toEqual(["2 put /a=1", "3 delete /a was 1@2", "4 put /a=2"]);
    });

    test("each of many watchers receives every event of its prefix in order", async () => {
      const { store, watch } = fixture();
      const all = range(20).map((i) => take(watch(`/${i % 2}/`, { fromRevision: 2 }), 25));
      for (const i of range(50)) await created(store, `/${i % 2}/${i}`, "v");
      for (const [i, events] of (await Promise.all(all)).entries()) {
        expect(events.map((event) => event.revision)).toEqual(range(25).map((n) => 2 * n + 2 + (i % 2)));
      }
    });

    test("ends without an error when its signal is aborted, even before the start", async () => {
      const { store } = fixture();
      const own = new AbortController();
      const events = store.watch("/", { fromRevision: 2, signal: own.signal })[Symbol.asyncIterator]();
      await created(store, "/a", "1");
      expect((await events.next()).value).toMatchObject({ revision: 2 });
      const next = events.next();
      own.abort();
      expect(await next).toMatchObject({ done: true });
      expect(await collect(store.watch("/", { fromRevision: 1, signal: own.signal }))).toEqual([]);
    });

    test("leaving the loop stops the watch", async () => {
      const { store, watch } = fixture();
      await created(store, "/a", "1");
      for await (const event of watch("/", { fromRevision: 2 })) {
        expect(describeEvent(event)).toBe("2 put /a=1");
        break;
      }
    });

    test("fails with slowWatcher when the reader falls too far behind, without skipping events before that", async () => {
      const { store, watch } = fixture();
      const iterator = watch("/p/", { fromRevision: 2, maxBuffered: 50 })[Symbol.asyncIterator]();
      const first = iterator.next();
      await created(store, "/p/first", "v");
      await first;
      // Enough data to exceed all socket buffers between the test and a remote backend.
      const value = Buffer.alloc(64 * 1_024);
      for (const batch of range(20)) {
        await Promise.all(range(30).map((i) => store.create(`/p/${batch}-${i}`, value)));
      }
      const seen: number[] = [];
      await expectCode("slowWatcher", async () => {
        for (let next = await iterator.next(); !next.done; next = await iterator.next())
          seen.push(next.value.revision);
      });
      expect(seen).toEqual(range(seen.length).map((i) => i + 3));
      expect(seen.length).toBeLessThan(600);
    });

    test("fails with closed when the store is closed", async () => {
      const { store, watch } = fixture();
      const events = watch("/", { fromRevision: 2 })[Symbol.asyncIterator]();
      await created(store, "/a", "1");
      await events.next();
      const ended = expectCode("closed", () => events.next());
      await store.close();
      await ended;
    });
  });
}

export function describeCompaction(fixture: () => StoreFixture): void {
  describe("compaction", () => {
    test("removes history before the revision and keeps the rest", async () => {
      const { store, watch } = fixture();
      await created(store, "/a", "1");
      await store.update("/a", bytes("2"), { ifRevision: 2 });
      await created(store, "/b", "1");
      await store.update("/a", bytes("3"), { ifRevision: 3 });
      await store.compact(4);

      await expectCode("compacted", () => store.get("/a", { atRevision: 3 }));
      await expectCode("compacted", () => store.list("/", { atRevision: 3 }));
      await expectCode("compacted", () => take(watch("/", { fromRevision: 3 }), 1));
      expect((await store.get("/a", { atRevision: 4 }))?.value.toString()).toBe("2");
      expect((await store.get("/a"))?.value.toString()).toBe("3");
      expect((await store.list("/")).entries.map((entry) => entry.key)).toEqual(["/a", "/b"]);
      const events = await take(watch("/", { fromRevision: 5 }), 1);
      expect(events.map(describeEvent)).toEqual(["5 put /a=3 was 2@3"]);
    });

    test("up to the current revision leaves a working store", async () => {
      const { store, watch } = fixture();
      await created(store, "/a", "1");
      await store.compact(2);
      expect(await store.currentRevision()).toBe(2);
      const events = take(watch("/", { fromRevision: 3 }), 1);
      await store.update("/a", bytes("2"), { ifRevision: 2 });
      expect((await events).map(describeEvent)).toEqual(["3 put /a=2 was 1@2"]);
    });

    test("at the same or an earlier revision does nothing; a future revision is rejected", async () => {
      const { store } = fixture();
      await created(store, "/a", "1");
      await created(store, "/b", "1");
      await store.compact(3);
      await store.compact(3);
      await store.compact(2);
      await expectCode("futureRevision", () => store.compact(99));
    });

    test("does not end watches that are past the revision", async () => {
      const { store, watch } = fixture();
      const events = watch("/", { fromRevision: 2 })[Symbol.asyncIterator]();
      await created(store, "/a", "1");
      expect((await events.next()).value).toMatchObject({ revision: 2 });
      await store.compact(2);
      await created(store, "/b", "1");
      expect((await events.next()).value).toMatchObject({ revision: 3 });
    });
  });
}
