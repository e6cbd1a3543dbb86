import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";
import { describeStoreContract } from "../store.contract.ts";
import type { Store, StoreEvent } from "../store.ts";
import { openLmdbEnvironment } from "./environment.ts";
import { openLmdbStore } from "./lmdb-store.ts";

const folder = temporaryFolder();

let directories = 0;
const newDirectory = () => join(folder, `${directories++}`);

describeStoreContract("lmdb", { open: () => openLmdbStore({ directory: newDirectory() }) });

describe("lmdb store", () => {
  test("has everything again after it was closed and opened", async () => {
    const directory = newDirectory();
    const first = await openLmdbStore({ directory });
    await first.create("/a", Buffer.from("1"));
    await first.create("/b", Buffer.from("1"));
    await first.update("/a", Buffer.from("2"), { ifRevision: 2 });
    await first.compact(3);
    await first.delete("/b", { ifRevision: 3 });
    await first.close();

    const again = await openLmdbStore({ directory });
    expect(await again.currentRevision()).toBe(5);
    expect(await again.get("/a")).toEqual({ key: "/a", value: Buffer.from("2"), revision: 4 });
    expect(keysOf(await again.list("/"))).toEqual(["/a"]);
    expect(keysOf(await again.list("/", { atRevision: 3 }))).toEqual(["/a", "/b"]);
    await expect(again.get("/a", { atRevision: 2 })).rejects.toMatchObject({ code: "compacted" });
    const events = take(again, { fromRevision: 4, count: 3 });
    expect(await again.create("/c", Buffer.from("1"))).toEqual({ kind: "created", revision: 6 });
    expect((await events).map((event) => event.revision)).toEqual([4, 5, 6]);
    await again.close();
  });

  test("keeps its revision when all of the past is compacted", async () => {
    const directory = newDirectory();
    const first = await openLmdbStore({ directory });
    await first.create("/a", Buffer.from("1"));
    await first.compact(2);
    await first.close();
    const again = await openLmdbStore({ directory });
    expect(await again.create("/b", Buffer.from("1"))).toEqual({ kind: "created", revision: 3 });
    await again.close();
  });

  test("a compaction drops what nobody can ask for any more, and no value that a key still has", async () => {
    const directory = newDirectory();
    const store = await openLmdbStore({ directory });
    await store.create("/kept", Buffer.from("1")); // 2
    await store.create("/changed", Buffer.from("1")); // 3
    await store.create("/deleted", Buffer.from("1")); // 4
    await store.update("/changed", Buffer.from("2"), { ifRevision: 3 });
    await store.delete("/deleted", { ifRevision: 4 }); // 6
    await store.create("/deleted", Buffer.from("2")); // 7
    await store.update("/changed", Buffer.from("3"), { ifRevision: 5 }); // 8
    await store.compact(6);
    const values = async (of: Store, atRevision?: number) =>
      (await of.list("/", { atRevision })).entries.map(({ key, value }) => `${key}=${value}`);
    expect(await values(store, 6)).toEqual(["/changed=2", "/kept=1"]);
    await store.close();
    // Revision 5 is no event any more, but what /changed had before revision 8.
    expect(await logRevisions(directory)).toEqual([2, 5, 7, 8]);

    const again = await openLmdbStore({ directory });
    expect(await values(again, 6)).toEqual(["/changed=2", "/kept=1"]);
    expect(await values(again)).toEqual(["/changed=3", "/deleted=2", "/kept=1"]);
    const [recreated, changed] = await take(again, { fromRevision: 7, count: 2 });
    expect(recreated).toMatchObject({ kind: "put", previous: undefined });
    expect(changed?.previous).toEqual({ key: "/changed", value: Buffer.from("2"), revision: 5 });
    await again.compact(8);
    await again.close();
    expect(await logRevisions(directory)).toEqual([2, 7, 8]);
  });

  test("a compaction of many revisions goes on where it was interrupted", async () => {
    const directory = newDirectory();
    const store = await openLmdbStore({ directory });
    await store.create("/a", Buffer.from("first"));
    for (let revision = 2; revision < 1_000; revision++) {
      void store.update("/a", Buffer.from(`${revision + 1}`), { ifRevision: revision });
    }
    await store.update("/a", Buffer.from("last"), { ifRevision: 1_000 });
    const compaction = store.compact(1_001);
    await store.close();
    await compaction;
    expect((await logRevisions(directory)).length).toBeGreaterThan(1);

    const again = await openLmdbStore({ directory });
    expect(await again.get("/a")).toMatchObject({ value: Buffer.from("last") });
    await again.compact(1_001);
    await again.close();
    expect(await logRevisions(directory)).toEqual([1_001]);
  });

  test("a value stays what it was while its key is written again and again", async () => {
    const store = await openLmdbStore({ directory: newDirectory() });
    await store.create("/a", Buffer.alloc(3_000, "a"));
    const { value } = (await store.get("/a")) ?? {};
    const listed = (await store.list("/")).entries[0]?.value;
    for (let revision = 2; revision < 50; revision++) {
      await store.update("/a", Buffer.alloc(3_000, "b"), { ifRevision: revision });
    }
    expect(value?.equals(Buffer.alloc(3_000, "a"))).toBe(true);
    expect(listed?.equals(Buffer.alloc(3_000, "a"))).toBe(true);
    await store.close();
  });

  test("closing twice does no harm, and waits for the writes under way", async () => {
    const directory = newDirectory();
    const store = await openLmdbStore({ directory });
    const writes = Promise.all([1, 2, 3].map((i) => store.create(`/${i}`, Buffer.from("x"))));
    await Promise.all([store.close(), store.close()]);
    expect((await writes).map((result) => result.kind)).toEqual(["created", "created", "created"]);
    await store.close();
    expect(readdirSync(directory).sort()).toEqual(["store.mdb", "store.mdb-lock"]);
  });

  test("a second open of the same directory is refused and names the owner", async () => {
    const directory = newDirectory();
    const store = await openLmdbStore({ directory });
    await expect(openLmdbStore({ directory })).rejects.toMatchObject({
      code: "inUse",
      message: expect.stringMatching(`^${directory} is in use by this process \\(pid ${process.pid}\\)`),
    });
    await store.create("/a", Buffer.from("still works"));
    await store.close();
    await (await openLmdbStore({ directory })).close();
  });

  test("the file stops growing when the past is compacted", async () => {
    const directory = newDirectory();
    const store = await openLmdbStore({ directory });
    const megabytes = () => statSync(join(directory, "store.mdb")).size / 2 ** 20;
    await updateMany(store, 2_000);
    const early = megabytes();
    await updateMany(store, 6_000);
    expect(megabytes()).toBeLessThanOrEqual(early + 2);
    await store.close();
  });

  test("many big values at once are written in groups that fit into memory", async () => {
    const store = await openLmdbStore({ directory: newDirectory() });
    const value = Buffer.alloc(1_500_000, 1);
    await Promise.all(Array.from({ length: 20 }, (_, i) => store.create(`/big/${i}`, value)));
    const { entries } = await store.list("/big/");
    expect(entries.filter((entry) => entry.value.equals(value))).toHaveLength(20);
    await store.close();
  });
});

function keysOf({ entries }: { entries: readonly { key: string }[] }): string[] {
  return entries.map((entry) => entry.key);
}

/** The revisions that have a row in the log. */
async function logRevisions(directory: string): Promise<number[]> {
  const environment = await openLmdbEnvironment(join(directory, "store.mdb"));
  const revisions = Array.from(environment.range("log", { start: 0 }), ({ key }) => key);
  await environment.close();
  return revisions;
}

async function take(
  store: Store,
  { fromRevision, count }: { fromRevision: number; count: number },
): Promise<StoreEvent[]> {
  const events: StoreEvent[] = [];
  for await (const event of store.watch("/", { fromRevision, signal: new AbortController().signal })) {
    if (events.push(event) === count) break;
  }
  return events;
}

/** Updates of 32 keys, keeping a past of some hundred revisions. */
async function updateMany(store: Store, count: number): Promise<void> {
  let left = count;
  const writer = async (key: string) => {
    let revision = (await store.get(key))?.revision;
    while (left-- > 0) {
      const value = Buffer.alloc(1_000, left);
      const result = revision
        ? await store.update(key, value, { ifRevision: revision })
        : await store.create(key, value);
      revision = "revision" in result ? result.revision : undefined;
      if (left % 200 === 0) await store.compact(Math.max(1, (await store.currentRevision()) - 400));
    }
  };
  await Promise.all(Array.from({ length: 32 }, (_, i) => writer(`/key/${i}`)));
}
