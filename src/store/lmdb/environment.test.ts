import { closeSync, openSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/files/temporary-folder.ts";
import { estimatePages, openLmdbEnvironment, openPreallocation } from "./environment.ts";
import type { RowWrite } from "./tables.ts";
import { readMetaPages } from "./verify/walk-tree.ts";

const folder = temporaryFolder();

test("no transaction allocates more pages than estimated", async () => {
  const file = join(folder, "estimate.mdb");
  const environment = await openLmdbEnvironment(file);
  let revision = 1;
  for (const [rows, bytes] of [
    [1, 10],
    [1, 100_000],
    [300, 10],
    [300, 900],
    [300, 3_000],
    [30, 50_000],
  ] as const) {
    for (let round = 0; round < 4; round++) {
      const writes: RowWrite[] = [];
      for (let i = 0; i < rows; i++) {
        // Scattered over the tree: each in a different leaf.
        const key = `/key/${(revision * 7_919) % 10_007}`;
        writes.push({ table: "present", key, row: Buffer.alloc(bytes) });
        writes.push({ table: "log", key: revision++, row: Buffer.alloc(2 * bytes) });
      }
      const before = lastPageOf(file);
      await environment.write(writes);
      expect(lastPageOf(file) - before).toBeLessThanOrEqual(estimatePages(writes));
      expect(statSync(file).size).toBeGreaterThan(4_096 * lastPageOf(file));
    }
  }
  for (let round = 0; round < 4; round++) {
    const writes: RowWrite[] = [];
    for (let i = 0; i < 250; i++) {
      writes.push({ table: "log", key: 2 + (((round * 250 + i) * 7) % revision), row: undefined });
    }
    const before = lastPageOf(file);
    await environment.write(writes);
    expect(lastPageOf(file) - before).toBeLessThanOrEqual(estimatePages(writes));
  }
  await environment.close();
});

test("extends the file only when required", async () => {
  const file = join(folder, "room.mdb");
  await (await openLmdbEnvironment(file)).close();
  const preallocation = await openPreallocation(file);
  await preallocation.ensure(1_000);
  const { size } = statSync(file);
  expect(size).toBeGreaterThan(1_000 * 4_096);
  await preallocation.ensure(900);
  expect(statSync(file).size).toBe(size);
  await preallocation.close();
});

function lastPageOf(file: string): number {
  const handle = openSync(file, "r");
  try {
    return readMetaPages(file, handle).newest.lastPage;
  } finally {
    closeSync(handle);
  }
}
