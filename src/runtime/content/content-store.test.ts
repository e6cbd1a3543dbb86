import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ContentStore, digestOf, openContentStore } from "./content-store.ts";

const bytes = Buffer.from("layer");
const digest = digestOf(bytes);

let directory: string;
let store: ContentStore;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "kindling-content-"));
  store = await openContentStore(directory);
});
afterEach(() => rm(directory, { recursive: true, force: true }));

test("a partial download is visible only after its commit", async () => {
  await writeFile(store.partialPath(digest), bytes);
  expect(await store.has(digest)).toBe(false);
  expect(await store.list()).toEqual([]);
  await expect(store.read(digest)).rejects.toThrow("ENOENT");

  await store.commit(digest);
  expect(await store.list()).toEqual([digest]);
  expect(await store.read(digest)).toEqual(bytes);
});

test("collect removes blobs without a reference and old partial downloads, and keeps the others", async () => {
  const kept = digestOf(Buffer.from("kept"));
  await store.write(kept, Buffer.from("kept"));
  await store.write(digest, bytes);
  await writeFile(store.partialPath(digest), "old");
  await utimes(store.partialPath(digest), 10, 10);
  await writeFile(store.partialPath(kept), "new");
  await utimes(store.partialPath(kept), 30, 30);

  await store.collect({ keep: new Set([kept]), partialsBeforeMs: 20_000 });
  expect(await store.list()).toEqual([kept]);
  await expect(store.commit(digest)).rejects.toThrow("ENOENT");
  await store.commit(kept);
  expect((await store.read(kept)).toString()).toBe("new");
});

test("rejects a digest that could name another file", () => {
  expect(() => store.path("sha256:../../etc/passwd")).toThrow("not a sha256 digest");
  expect(() => store.partialPath("md5:0")).toThrow("not a sha256 digest");
});
