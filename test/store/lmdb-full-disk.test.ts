import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { openLmdbStore } from "../../src/store/lmdb/lmdb-store.ts";
import { isStoreError, type Store } from "../../src/store/store.ts";
import { mountSmallDisk } from "../support/files/small-disk.ts";

const disk = mountSmallDisk(4);
afterAll(() => disk?.remove());

describe.skipIf(!disk)("a full disk [needs the right to mount a tmpfs]", () => {
  const directory = join(disk?.path ?? "", "store");
  const filler = join(disk?.path ?? "", "filler");
  afterEach(() => {
    rmSync(directory, { recursive: true, force: true });
    rmSync(filler, { force: true });
  });

  test("rejects only writes, and accepts them again when there is space", async () => {
    const store = await openLmdbStore({ directory });
    const answered = await writeUntilFull(store, (name, i) => `/${name}/${i}`);
    expect(answered.size).toBeGreaterThan(100);
    await expect(store.create("/more", Buffer.alloc(500_000))).rejects.toMatchObject({
      code: "noSpace",
      message: `no space left on the device to write ${join(directory, "store.mdb")}; nothing was written`,
    });
    await expectAll(store, answered);
    expect((await store.list("/")).entries).toHaveLength(answered.size);

    const fromRevision = (await store.currentRevision()) + 1;
    const { signal } = new AbortController();
    const next = store.watch("/", { fromRevision, signal })[Symbol.asyncIterator]().next();
    disk?.resize(16);
    expect(await store.create("/more", Buffer.alloc(500_000))).toEqual({
      kind: "created",
      revision: fromRevision,
    });
    expect((await next).value).toMatchObject({ entry: { key: "/more" } });
    await store.close();

    const reopened = await openLmdbStore({ directory });
    await expectAll(reopened, answered.set("/more", fromRevision));
    await reopened.close();
  });

  test("gets space from a compaction", async () => {
    disk?.resize(24);
    const store = await openLmdbStore({ directory });
    const answered = await writeUntilFull(store, (name) => `/${name}`);
    await expectAll(store, answered);
    await store.compact(await store.currentRevision());
    for (const [key, ifRevision] of answered) {
      expect(await store.update(key, Buffer.alloc(1_000), { ifRevision })).toMatchObject({ kind: "updated" });
    }
    await store.close();
  });

  test("is reported when the disk is full from the start", async () => {
    disk?.resize(4);
    expect(() => writeFileSync(filler, Buffer.alloc(5_000_000))).toThrow("ENOSPC");
    await expect(openLmdbStore({ directory })).rejects.toMatchObject({ code: "noSpace" });
  });
});

/** Creates and updates until the disk is full, and answers with the revisions of the keys. */
async function writeUntilFull(
  store: Store,
  keyOf: (writer: number, i: number) => string,
): Promise<Map<string, number>> {
  const revisions = new Map<string, number>();
  let refused = 0;
  const write = async (writer: number) => {
    for (let i = 0; refused < 50; i++) {
      const key = keyOf(writer, i);
      const value = Buffer.alloc(1_000, key);
      const ifRevision = revisions.get(key);
      try {
        const result = await (ifRevision
          ? store.update(key, value, { ifRevision })
          : store.create(key, value));
        if ("revision" in result) revisions.set(key, result.revision);
      } catch (error) {
        if (!isStoreError(error, "noSpace")) throw error;
        refused++;
      }
    }
  };
  await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(write));
  return revisions;
}

async function expectAll(store: Store, revisions: ReadonlyMap<string, number>): Promise<void> {
  for (const [key, revision] of revisions) expect((await store.get(key))?.revision).toBe(revision);
}
