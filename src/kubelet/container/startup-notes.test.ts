import { mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { silentLogger } from "../../lib/logger.ts";
import { temporaryDirectory } from "../volume/temporary-directory.fixture.ts";
import { createStartupNotes } from "./startup-notes.ts";

const root = temporaryDirectory();
const setUp = async () => {
  const dataDirectory = await mkdtemp(join(root, "data-"));
  return { dataDirectory, restart: () => createStartupNotes({ dataDirectory, logger: silentLogger }) };
};

test("a hook is pending from its beginning to its end, whichever kubelet asks", async () => {
  const { restart } = await setUp();
  expect(restart().pendingHooks("u")).toEqual(new Set());
  await restart().hookBegins("u", "a");
  await restart().hookBegins("u", "b");
  expect(restart().pendingHooks("u")).toEqual(new Set(["a", "b"]));
  expect(restart().pendingHooks("other")).toEqual(new Set());
  await restart().hookEnded("u", "a");
  await restart().hookEnded("u", "a");
  expect(restart().pendingHooks("u")).toEqual(new Set(["b"]));
});

test("failures are counted on, and forgotten at the end of the startup", async () => {
  const { restart } = await setUp();
  const first = restart();
  expect(first.startupFailures("u", "a")).toBe(0);
  first.startupFailed("u", "a");
  first.startupFailed("u", "a");
  await expect.poll(() => restart().startupFailures("u", "a")).toBe(2);
  const second = restart();
  second.startupFailed("u", "a");
  await expect.poll(() => restart().startupFailures("u", "a")).toBe(3);
  expect(second.startupFailures("u", "b")).toBe(0);
  // The end has the last word over what is still being written.
  second.startupFailed("u", "a");
  second.startupEnded("u", "a");
  second.startupFailed("u", "b");
  await expect.poll(() => restart().startupFailures("u", "b")).toBe(1);
  await expect.poll(() => restart().startupFailures("u", "a")).toBe(0);
});

test("a disk that takes no notes fails the hook's beginning, and no probe", async () => {
  const { dataDirectory, restart } = await setUp();
  await writeFile(join(dataDirectory, "pods"), "a file where the directory should be");
  await expect(restart().hookBegins("u", "a")).rejects.toThrow(/ENOTDIR|EEXIST/);
  expect(() => restart().startupFailed("u", "a")).not.toThrow();
});

test.each(["..", "a/b", ""])("no id leads out of the pod's directory: %j", async (id) => {
  const { restart } = await setUp();
  expect(() => restart().startupFailures("u", id)).toThrow("cannot name a directory");
});
