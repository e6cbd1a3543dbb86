import { describe, expect, test } from "vitest";
import { maxValueBytes } from "../store.ts";
import { bytes, created, expectCode, range, type StoreFixture } from "./store-fixture.ts";

export function describeWrites(fixture: () => StoreFixture): void {
  describe("writes", () => {
    test("an empty store is at revision 1 and each write takes the next revision", async () => {
      const { store } = fixture();
      expect(await store.currentRevision()).toBe(1);
      const a = await created(store, "/a", "1");
      const b = await created(store, "/b", "1");
      const updated = await store.update("/a", bytes("2"), { ifRevision: a });
      const deleted = await store.delete("/b", { ifRevision: b });
      expect([a, b]).toEqual([2, 3]);
      expect(updated).toMatchObject({ kind: "updated", revision: 4 });
      expect(deleted).toMatchObject({ kind: "deleted", revision: 5 });
      expect(await store.currentRevision()).toBe(5);
    });

    test("create of an existing key returns the current entry and takes no revision", async () => {
      const { store } = fixture();
      await created(store, "/a", "1");
      const again = await store.create("/a", bytes("2"));
      expect(again).toEqual({ kind: "exists", current: { key: "/a", value: bytes("1"), revision: 2 } });
      expect(await store.currentRevision()).toBe(2);
    });

    test("create after delete succeeds", async () => {
      const { store } = fixture();
      const revision = await created(store, "/a", "1");
      await store.delete("/a", { ifRevision: revision });
      expect(await store.create("/a", bytes("2"))).toEqual({ kind: "created", revision: 4 });
    });

    test("update and delete return the replaced entry", async () => {
      const { store } = fixture();
      const revision = await created(store, "/a", "1");
      const updated = await store.update("/a", bytes("2"), { ifRevision: revision });
      expect(updated).toMatchObject({ previous: { key: "/a", value: bytes("1"), revision: 2 } });
      const deleted = await store.delete("/a", { ifRevision: 3 });
      expect(deleted).toMatchObject({ previous: { key: "/a", value: bytes("2"), revision: 3 } });
    });

    test("update and delete at another revision return a conflict with the current entry", async () => {
      const { store } = fixture();
      const revision = await created(store, "/a", "1");
      await store.update("/a", bytes("2"), { ifRevision: revision });
      const current = { key: "/a", value: bytes("2"), revision: 3 };
      expect(await store.update("/a", bytes("3"), { ifRevision: revision })).toEqual({
        kind: "conflict",
        current,
      });
      expect(await store.delete("/a", { ifRevision: revision })).toEqual({ kind: "conflict", current });
      expect(await store.currentRevision()).toBe(3);
    });

    test("update and delete of a missing key return a conflict without an entry", async () => {
      const { store } = fixture();
      const conflict = { kind: "conflict", current: undefined };
      expect(await store.update("/a", bytes("1"), { ifRevision: 1 })).toEqual(conflict);
      expect(await store.delete("/a", { ifRevision: 1 })).toEqual(conflict);
    });

    test("exactly one of many concurrent updates at one revision succeeds", async () => {
      const { store } = fixture();
      const revision = await created(store, "/a", "0");
      const results = await Promise.all(
        range(20).map((i) => store.update("/a", bytes(`${i}`), { ifRevision: revision })),
      );
      expect(results.filter((result) => result.kind === "updated")).toHaveLength(1);
    });

    test("concurrent creates take distinct, contiguous revisions", async () => {
      const { store } = fixture();
      const revisions = await Promise.all(range(50).map((i) => created(store, `/k${i}`, "v")));
      expect([...revisions].sort((a, b) => a - b)).toEqual(range(50).map((i) => i + 2));
    });

    test("stores empty, binary and large values unchanged", async () => {
      const { store } = fixture();
      const binary = Buffer.from(range(256));
      const large = Buffer.alloc(maxValueBytes, 7);
      await store.create("/empty", Buffer.alloc(0));
      await store.create("/binary", binary);
      await store.create("/large", large);
      expect((await store.get("/empty"))?.value).toEqual(Buffer.alloc(0));
      expect((await store.get("/binary"))?.value).toEqual(binary);
      expect((await store.get("/large"))?.value.equals(large)).toBe(true);
    });

    test.each([
      { fault: "empty", key: "" },
      { fault: "with a space", key: "/a b" },
      { fault: "not ASCII", key: "/ä" },
      { fault: "with a NUL", key: "/\u0000" },
      { fault: "too long", key: `/${"k".repeat(1_024)}` },
    ])("a key that is $fault is rejected", async ({ key }) => {
      const { store } = fixture();
      await expectCode("invalidKey", () => store.create(key, bytes("1")));
    });

    test("a value over the limit is rejected", async () => {
      const { store } = fixture();
      await expectCode("valueTooLarge", () => store.create("/a", Buffer.alloc(maxValueBytes + 1)));
    });
  });
}

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
