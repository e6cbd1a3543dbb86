import { describe, expect, test } from "vitest";
import { bytes, created, describeEvent, expectCode, type StoreFixture, take } from "./store-fixture.ts";

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
