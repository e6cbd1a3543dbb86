import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { openLmdbStore } from "../../src/store/lmdb-store.ts";
import type { Store } from "../../src/store/store.ts";
import { isStoreError } from "../../src/store/store-error.ts";
import { mountSmallDisk } from "../support/small-disk.ts";

const disk = mountSmallDisk(4);
afterAll(() => disk?.remove());

describe.skipIf(!disk)("a full disk [needs the right to mount a tmpfs]", () => {
  const path = disk?.path ?? "";

  test("refuses writes and nothing else, and takes them again when there is room", async () => {
    const directory = join(path, "store");
    const store = await openLmdbStore({ directory });
    const answered = await writeUntilFull(store);
    expect(answered.size).toBeGreaterThan(100);

    await expect(store.create("/more", Buffer.alloc(500_000))).rejects.toMatchObject({
      code: "noSpace",
      message: `no space left to write ${join(directory, "store.mdb")}; nothing was written`,
    });
    await expectAll(store, answered);
    expect((await store.list("/")).entries).toHaveLength(answered.size);

    const abort = new AbortController();
    const next = store
      .watch("/", { fromRevision: answered.size + 2, signal: abort.signal })
      [Symbol.asyncIterator]();
    disk?.resize(16);
    expect(await store.create("/more", Buffer.alloc(500_000))).toMatchObject({ kind: "created" });
    answered.set("/more", answered.size + 2);
    expect((await next.next()).value).toMatchObject({ entry: { key: "/more" } });
    abort.abort();
    await store.close();

    const reopened = await openLmdbStore({ directory });
    await expectAll(reopened, answered);
    await reopened.close();
  });

  test("is said when it is full from the beginning", async () => {
    disk?.resize(4);
    fill(join(path, "filler"));
    await expect(openLmdbStore({ directory: join(path, "another") })).rejects.toMatchObject({
      code: "noSpace",
    });
  });
});

/** The revisions of the keys that were written before the disk was full. */
async function writeUntilFull(store: Store): Promise<Map<string, number>> {
  const answered = new Map<string, number>();
  let refused = 0;
  const writer = async (name: number) => {
    for (let i = 0; refused < 50; i++) {
      const key = `/${name}/${i}`;
      try {
        const result = await store.create(key, Buffer.alloc(1_000, key));
        if (result.kind === "created") answered.set(key, result.revision);
      } catch (error) {
        if (!isStoreError(error, "noSpace")) throw error;
        refused++;
      }
    }
  };
  await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(writer));
  return answered;
}

async function expectAll(store: Store, answered: ReadonlyMap<string, number>): Promise<void> {
  for (const [key, revision] of answered) expect((await store.get(key))?.revision).toBe(revision);
}

function fill(file: string): void {
  try {
    for (;;) writeFileSync(file, Buffer.alloc(65_536), { flag: "a" });
  } catch {
    // Full.
  }
}
