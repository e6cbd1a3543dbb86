import { setMaxListeners } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventKey, maxValueBytes, type Store, type StoreEvent, type WatchOptions } from "./store.ts";
import type { StoreErrorCode } from "./store-error.ts";

interface Backend {
  /** A new, empty store. */
  open(): Promise<Store>;
  /** Removes whatever `open` left behind. */
  cleanUp?(): Promise<void>;
}

/** What every backend of the store promises, as tests. */
export function describeStoreContract(name: string, backend: Backend): void {
  describe(`store contract: ${name}`, () => {
    let store: Store;
    let abort: AbortController;

    beforeEach(async () => {
      abort = new AbortController();
      // One signal ends all watches of a test.
      setMaxListeners(0, abort.signal);
      store = await backend.open();
    });
    afterEach(async () => {
      abort.abort();
      await store.close();
      await backend.cleanUp?.();
    });

    const watch = (prefix: string, options: Partial<WatchOptions> & { fromRevision: number }) =>
      store.watch(prefix, { signal: abort.signal, ...options });

    describe("writes", () => {
      test("an empty store is at revision 1 and each write takes the next revision", async () => {
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

      test("create of a present key answers with what is there and takes no revision", async () => {
        await created(store, "/a", "1");
        const again = await store.create("/a", bytes("2"));
        expect(again).toEqual({ kind: "exists", current: { key: "/a", value: bytes("1"), revision: 2 } });
        expect(await store.currentRevision()).toBe(2);
      });

      test("create after delete succeeds", async () => {
        const revision = await created(store, "/a", "1");
        await store.delete("/a", { ifRevision: revision });
        expect(await store.create("/a", bytes("2"))).toEqual({ kind: "created", revision: 4 });
      });

      test("update and delete answer with the entry they replaced", async () => {
        const revision = await created(store, "/a", "1");
        const updated = await store.update("/a", bytes("2"), { ifRevision: revision });
        expect(updated).toMatchObject({ previous: { key: "/a", value: bytes("1"), revision: 2 } });
        const deleted = await store.delete("/a", { ifRevision: 3 });
        expect(deleted).toMatchObject({ previous: { key: "/a", value: bytes("2"), revision: 3 } });
      });

      test("update and delete at another revision answer conflict with the current entry", async () => {
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

      test("update and delete of a missing key answer conflict with nothing", async () => {
        const conflict = { kind: "conflict", current: undefined };
        expect(await store.update("/a", bytes("1"), { ifRevision: 1 })).toEqual(conflict);
        expect(await store.delete("/a", { ifRevision: 1 })).toEqual(conflict);
      });

      test("of many concurrent updates from one revision exactly one wins", async () => {
        const revision = await created(store, "/a", "0");
        const results = await Promise.all(
          range(20).map((i) => store.update("/a", bytes(`${i}`), { ifRevision: revision })),
        );
        expect(results.filter((result) => result.kind === "updated")).toHaveLength(1);
      });

      test("concurrent creates take distinct, contiguous revisions", async () => {
        const revisions = await Promise.all(range(50).map((i) => created(store, `/k${i}`, "v")));
        expect([...revisions].sort((a, b) => a - b)).toEqual(range(50).map((i) => i + 2));
      });

      test("values are bytes: empty, binary and large ones come back as they were", async () => {
        const binary = Buffer.from(range(256));
        const large = Buffer.alloc(maxValueBytes, 7);
        await store.create("/empty", Buffer.alloc(0));
        await store.create("/binary", binary);
        await store.create("/large", large);
        expect((await store.get("/empty"))?.value).toEqual(Buffer.alloc(0));
        expect((await store.get("/binary"))?.value).toEqual(binary);
        expect((await store.get("/large"))?.value.equals(large)).toBe(true);
      });

      test("a stored value does not change with the caller's buffer", async () => {
        const value = bytes("before");
        await store.create("/a", value);
        value.write("AFTER!");
        expect((await store.get("/a"))?.value.toString()).toBe("before");
      });

      test.each([
        { fault: "empty", key: "" },
        { fault: "with a space", key: "/a b" },
        { fault: "not ASCII", key: "/ä" },
        { fault: "with a NUL", key: "/\u0000" },
        { fault: "too long", key: `/${"k".repeat(1_024)}` },
      ])("a key that is $fault is refused", async ({ key }) => {
        await expectCode("invalidKey", () => store.create(key, bytes("1")));
      });

      test("a value over the limit is refused", async () => {
        await expectCode("valueTooLarge", () => store.create("/a", Buffer.alloc(maxValueBytes + 1)));
      });
    });

    describe("reads", () => {
      test("get of a missing key is undefined", async () => {
        expect(await store.get("/a")).toBeUndefined();
      });

      test("get at a past revision sees that past", async () => {
        await created(store, "/a", "1");
        await store.update("/a", bytes("2"), { ifRevision: 2 });
        await store.delete("/a", { ifRevision: 3 });
        const at = async (atRevision: number) => (await store.get("/a", { atRevision }))?.value.toString();
        expect([await at(1), await at(2), await at(3), await at(4)]).toEqual([
          undefined,
          "1",
          "2",
          undefined,
        ]);
      });

      test("list gives the keys of a prefix in byte order, and nothing beside it", async () => {
        for (const key of ["/p/b", "/p/a", "/p/B", "/p/a/x", "/p/a-", "/q", "/o", "/p", "/p0"])
          await created(store, key, key);
        const page = await store.list("/p/");
        expect(page.entries.map((entry) => entry.key)).toEqual(["/p/B", "/p/a", "/p/a-", "/p/a/x", "/p/b"]);
        expect(page).toMatchObject({ more: false, revision: 10 });
      });

      test("list of a prefix that ends in the last ASCII character stays within it", async () => {
        for (const key of ["/~", "/~a", "/~~", "0"]) await created(store, key, key);
        expect((await store.list("/~")).entries.map((entry) => entry.key)).toEqual(["/~", "/~a", "/~~"]);
      });

      test("pages continue behind the last key and agree on the first page's revision", async () => {
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
        for (const i of range(4)) await created(store, `/p/${i}`, "v");
        expect(await store.list("/p/", { limit: 4 })).toMatchObject({ more: false });
      });

      test("reads ahead of the current revision are refused", async () => {
        await expectCode("futureRevision", () => store.list("/", { atRevision: 99 }));
        await expectCode("futureRevision", () => store.get("/a", { atRevision: 99 }));
      });
    });

    describe("watch", () => {
      test("delivers changes as they happen, with previous values", async () => {
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

      test("replays the past from a revision, then goes on live without gap or repeat", async () => {
        for (const i of range(30)) await created(store, `/p/${i}`, "v");
        const events = take(watch("/p/", { fromRevision: 10 }), 52);
        for (const i of range(30)) await created(store, `/p/x${i}`, "v");
        expect((await events).map((event) => event.revision)).toEqual(range(52).map((i) => i + 10));
      });

      test("a watch from a revision that is still ahead waits for it", async () => {
        const events = take(watch("/", { fromRevision: 4 }), 1);
        for (const i of range(3)) await created(store, `/${i}`, "v");
        expect((await events).map(describeEvent)).toEqual(["4 put /2=v"]);
      });

      test("a recreated key has no previous value", async () => {
        await created(store, "/a", "1");
        await store.delete("/a", { ifRevision: 2 });
        await created(store, "/a", "2");
        const events = await take(watch("/a", { fromRevision: 2 }), 3);
        expect(events.map(describeEvent)).toEqual(["2 put /a=1", "3 delete /a was 1@2", "4 put /a=2"]);
      });

      test("many watchers all see every event of their prefix in order", async () => {
        const all = range(20).map((i) => take(watch(`/${i % 2}/`, { fromRevision: 2 }), 25));
        for (const i of range(50)) await created(store, `/${i % 2}/${i}`, "v");
        for (const [i, events] of (await Promise.all(all)).entries()) {
          expect(events.map((event) => event.revision)).toEqual(range(25).map((n) => 2 * n + 2 + (i % 2)));
        }
      });

      test("ends quietly when its signal aborts, also when it aborted before", async () => {
        const own = new AbortController();
        const events = collect(store.watch("/", { fromRevision: 2, signal: own.signal }));
        await created(store, "/a", "1");
        await delay(50);
        own.abort();
        expect((await events).length).toBeLessThanOrEqual(1);
        expect(await collect(store.watch("/", { fromRevision: 1, signal: own.signal }))).toEqual([]);
      });

      test("leaving the loop stops the watch", async () => {
        await created(store, "/a", "1");
        for await (const event of watch("/", { fromRevision: 2 })) {
          expect(describeEvent(event)).toBe("2 put /a=1");
          break;
        }
      });

      test("a reader that falls too far behind is told, and never skips an event before that", async () => {
        const iterator = watch("/p/", { fromRevision: 2, maxBuffered: 50 })[Symbol.asyncIterator]();
        const first = iterator.next();
        await created(store, "/p/first", "v");
        await first;
        // Enough bytes that no socket buffer between here and a remote backend can hide the slowness.
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

      test("close ends it with a clear error", async () => {
        const ended = expectCode("closed", () => collect(watch("/", { fromRevision: 2 })));
        await delay(20);
        await store.close();
        await ended;
      });
    });

    describe("compaction", () => {
      test("forgets the past before the revision and keeps the rest", async () => {
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
        await created(store, "/a", "1");
        await store.compact(2);
        expect(await store.currentRevision()).toBe(2);
        const events = take(watch("/", { fromRevision: 3 }), 1);
        await store.update("/a", bytes("2"), { ifRevision: 2 });
        expect((await events).map(describeEvent)).toEqual(["3 put /a=2 was 1@2"]);
      });

      test("again at the same or an earlier revision does nothing; ahead is refused", async () => {
        await created(store, "/a", "1");
        await created(store, "/b", "1");
        await store.compact(3);
        await store.compact(3);
        await store.compact(2);
        await expectCode("futureRevision", () => store.compact(99));
      });

      test("ends no watch that is already past it", async () => {
        const events = take(watch("/", { fromRevision: 2 }), 2);
        await created(store, "/a", "1");
        await delay(20);
        await store.compact(2);
        await created(store, "/b", "1");
        expect((await events).map((event) => event.revision)).toEqual([2, 3]);
      });
    });

    test("a closed store refuses everything", async () => {
      await store.close();
      await expectCode("closed", () => store.get("/a"));
      await expectCode("closed", () => store.create("/a", bytes("1")));
      await expectCode("closed", () => store.list("/"));
      await expectCode("closed", () => take(watch("/", { fromRevision: 2 }), 1));
      await expectCode("closed", () => store.currentRevision());
    });
  });
}

async function created(store: Store, key: string, value: string): Promise<number> {
  const result = await store.create(key, bytes(value));
  expect(result.kind).toBe("created");
  return result.kind === "created" ? result.revision : Number.NaN;
}

async function expectCode(code: StoreErrorCode, action: () => Promise<unknown>): Promise<void> {
  await expect((async () => action())()).rejects.toMatchObject({ name: "StoreError", code });
}

async function take(events: AsyncIterable<StoreEvent>, count: number): Promise<StoreEvent[]> {
  const taken: StoreEvent[] = [];
  for await (const event of events) {
    taken.push(event);
    if (taken.length === count) break;
  }
  return taken;
}

async function collect(events: AsyncIterable<StoreEvent>): Promise<StoreEvent[]> {
  const collected: StoreEvent[] = [];
  for await (const event of events) collected.push(event);
  return collected;
}

function describeEvent(event: StoreEvent): string {
  const value = event.kind === "put" ? `=${event.entry.value}` : "";
  const previous = event.previous ? ` was ${event.previous.value}@${event.previous.revision}` : "";
  return `${event.revision} ${event.kind} ${eventKey(event)}${value}${previous}`;
}

function bytes(text: string): Buffer {
  return Buffer.from(text);
}

function range(count: number): number[] {
  return [...Array(count).keys()];
}
