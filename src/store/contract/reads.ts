import { describe, expect, test } from "vitest";
import { bytes, created, expectCode, range, type StoreFixture } from "./store-fixture.ts";

export function describeReads(fixture: () => StoreFixture): void {
  describe("reads", () => {
    test("get of a missing key is undefined", async () => {
      const { store } = fixture();
      expect(await store.get("/a")).toBeUndefined();
    });

    test.each([
      { fault: "not ASCII", other: "/p/š" },
      { fault: "with a space", other: "/p/ a" },
      { fault: "too long", other: `/p/${"a".repeat(5_000)}` },
    ])("a key that is invalid has no entry: $fault", async ({ other }) => {
      const { store } = fixture();
      // The low byte of š is that of a.
      await created(store, "/p/a", "1");
      expect(await store.get(other)).toBeUndefined();
      expect(await store.get(other, { atRevision: 1 })).toBeUndefined();
      expect(await store.list(other)).toEqual({ entries: [], more: false, revision: 2 });
    });

    test("get at a past revision returns the value of that revision", async () => {
      const { store } = fixture();
      await created(store, "/a", "1");
      await store.update("/a", bytes("2"), { ifRevision: 2 });
      await store.delete("/a", { ifRevision: 3 });
      const at = async (atRevision: number) => (await store.get("/a", { atRevision }))?.value.toString();
      expect([await at(1), await at(2), await at(3), await at(4)]).toEqual([undefined, "1", "2", undefined]);
    });

    test("list returns the keys of a prefix in byte order, and no others", async () => {
      const { store } = fixture();
      for (const key of ["/p/b", "/p/a", "/p/B", "/p/a/x", "/p/a-", "/q", "/o", "/p", "/p0"])
        await created(store, key, key);
      const page = await store.list("/p/");
      expect(page.entries.map((entry) => entry.key)).toEqual(["/p/B", "/p/a", "/p/a-", "/p/a/x", "/p/b"]);
      expect(page).toMatchObject({ more: false, revision: 10 });
    });

    test("list of a prefix that ends with the last ASCII character returns only that prefix", async () => {
      const { store } = fixture();
      for (const key of ["/~", "/~a", "/~~", "0"]) await created(store, key, key);
      expect((await store.list("/~")).entries.map((entry) => entry.key)).toEqual(["/~", "/~a", "/~~"]);
    });

    test("pages continue after the last key at the revision of the first page", async () => {
      const { store } = fixture();
      for (const i of range(10)) await created(store, `/p/${i}`, "old");
      const first = await store.list("/p/", { limit: 4 });
      expect(first).toMatchObject({ more: true, revision: 11 });

      await store.update("/p/5", bytes("new"), { ifRevision: 7 });
      await store.delete("/p/6", { ifRevision: 8 });
      await created(store, "/p/55", "new");
      await created(store, "/p/zz", "new");
      await store.update("/p/5", bytes("newer"), { ifRevision: 12 });

      const second = await store.list("/p/", { limit: 4, after: "/p/3", atRevision: first.revision });
      const third = await store.list("/p/", { limit: 4, after: "/p/7", atRevision: first.revision });
      const rest = [...second.entries, ...third.entries];
      expect(rest.map((entry) => entry.key)).toEqual(["/p/4", "/p/5", "/p/6", "/p/7", "/p/8", "/p/9"]);
      expect(new Set(rest.map((entry) => entry.value.toString()))).toEqual(new Set(["old"]));
      expect(rest.map((entry) => entry.revision)).toEqual([6, 7, 8, 9, 10, 11]);
      expect([second.more, third.more]).toEqual([true, false]);
      expect([second.revision, third.revision]).toEqual([11, 11]);
    });

    test("a page that ends exactly at the last key has no more", async () => {
      const { store } = fixture();
      for (const i of range(4)) await created(store, `/p/${i}`, "v");
      expect(await store.list("/p/", { limit: 4 })).toMatchObject({ more: false });
    });

    test("reads at a future revision are rejected", async () => {
      const { store } = fixture();
      await expectCode("futureRevision", () => store.list("/", { atRevision: 99 }));
      await expectCode("futureRevision", () => store.get("/a", { atRevision: 99 }));
    });
  });
}
