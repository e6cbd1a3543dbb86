import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/files/temporary-folder.ts";
import { describeStoreContract } from "../store.contract.ts";
import type { Store, StoreEvent } from "../store.ts";
import { openLmdbEnvironment } from "./environment.ts";
import { decideDirectory, openLmdbStore } from "./lmdb-store.ts";

const folder = temporaryFolder();

let directories = 0;
const newDirectory = () => join(folder, `${directories++}`);

describeStoreContract("lmdb", { open: () => openLmdbStore({ directory: newDirectory() }) });

describe("lmdb store", () => {
  test("keeps its data when it is closed and reopened", async () => {
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

  test("keeps its revision when all history is compacted", async () => {
    const directory = newDirectory();
    const first = await openLmdbStore({ directory });
    await first.create("/a", Buffer.from("1"));
    await first.compact(2);
    await first.close();
    const again = await openLmdbStore({ directory });
    expect(await again.create("/b", Buffer.from("1"))).toEqual({ kind: "created", revision: 3 });
    await again.close();
  });

  test("a compaction deletes obsolete rows, and keeps all current values", async () => {
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
    // The event of revision 5 is compacted, but its value is the previous value of revision 8.
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

  test("a compaction of many revisions resumes after an interruption", async () => {
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

  test("a value that was read does not change while its key is overwritten", async () => {
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

  test("close is idempotent and waits for pending writes", async () => {
    const directory = newDirectory();
    const store = await openLmdbStore({ directory });
    const writes = Promise.all([1, 2, 3].map((i) => store.create(`/${i}`, Buffer.from("x"))));
    await Promise.all([store.close(), store.close()]);
    expect((await writes).map((result) => result.kind)).toEqual(["created", "created", "created"]);
    await store.close();
    expect(readdirSync(directory).sort()).toEqual(["store.mdb", "store.mdb-lock"]);
  });

  test("rejects a second open of the same directory and names the owner", async () => {
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

  test("the file stops growing when history is compacted", async () => {
    const directory = newDirectory();
    const store = await openLmdbStore({ directory });
    const megabytes = () => statSync(join(directory, "store.mdb")).size / 2 ** 20;
    await updateMany(store, 2_000);
    const early = megabytes();
    await updateMany(store, 6_000);
    expect(megabytes()).toBeLessThanOrEqual(early + 2);
    await store.close();
  });

  test("writes many large values in groups that fit into memory", async () => {
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

/** Revisions that have a row in the log. */
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

/** Updates 32 keys, keeping some hundred revisions of history. */
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

describe("decideDirectory", () => {
  const cases: { name: string; names: string[]; decision?: string; error?: RegExp }[] = [
    { name: "empty", names: [], decision: "create" },
    { name: "the mount point of a new disk", names: ["lost+found"], decision: "create" },
    {
      name: "files of a crash before the first store was complete",
      names: ["unfinished.mdb", "unfinished.mdb-lock", "owner-12-a1b2.sock"],
      decision: "create",
    },
    { name: "a store", names: ["store.mdb", "store.mdb-lock"], decision: "open" },
    { name: "a store and something else", names: ["store.mdb", "store.mdb.backup"], decision: "open" },
    {
      name: "a missing store with a lock file",
      names: ["store.mdb-lock"],
      error:
        /^\/data\/store\.mdb is damaged: it is missing, .* Restore it from a backup, or move \/data away/,
    },
    {
      name: "etcd",
      names: ["member"],
      error: /^\/data contains other files \(member\) and no Kindling store\./,
    },
    {
      name: "a home directory",
      names: ["c", "b", "a", "d"],
      error: /^\/data contains other files \(a, b, c, …\)/,
    },
  ];
  test.each(cases)("$name", ({ names, decision, error }) => {
    const decide = () => decideDirectory("/data", names);
    if (error) expect(decide).toThrow(error);
    else expect(decide()).toBe(decision);
  });
});

describe("the store directory", () => {
  const folder = temporaryFolder();

  test("is created with its parents, accessible only by its owner", async () => {
    const directory = join(folder, "deep/down");
    await (await openLmdbStore({ directory })).close();
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(directory))
      expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
  });

  test("of another program is not modified", async () => {
    const directory = join(folder, "etcd");
    mkdirSync(join(directory, "member"), { recursive: true });
    await expect(openLmdbStore({ directory })).rejects.toMatchObject({ code: "unrecognized" });
    expect(readdirSync(directory)).toEqual(["member"]);
  });

  test("may have a path too long for a socket address", async () => {
    const directory = join(folder, "long-name-".repeat(20));
    const store = await openLmdbStore({ directory });
    await expect(openLmdbStore({ directory })).rejects.toMatchObject({ code: "inUse" });
    await store.close();
  });

  test("with an incomplete store of an earlier crash gets a complete one", async () => {
    const directory = join(folder, "unfinished");
    mkdirSync(directory);
    writeFileSync(join(directory, "unfinished.mdb"), "half a store");
    const store = await openLmdbStore({ directory });
    expect(await store.currentRevision()).toBe(1);
    await store.close();
    expect(existsSync(join(directory, "unfinished.mdb"))).toBe(false);
  });

  test("that cannot be created is reported", async () => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    await expect(openLmdbStore({ directory: join(file, "below") })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("ENOTDIR"),
    });
  });
});
