import { mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { silentLogger } from "../../lib/logger.ts";
import { temporaryDirectory } from "../volumes/temporary-directory.fixture.ts";
import { createStartupCheckpoints } from "./startup-checkpoints.ts";

const root = temporaryDirectory();
const setUp = async () => {
  const dataDirectory = await mkdtemp(join(root, "data-"));
  return { dataDirectory, restart: () => createStartupCheckpoints({ dataDirectory, logger: silentLogger }) };
};

test("a hook is pending until it completes, also for the next kubelet", async () => {
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

test("counts failures across restarts until the startup ends", async () => {
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
  // The end overrides pending writes.
  second.startupFailed("u", "a");
  second.startupEnded("u", "a");
  second.startupFailed("u", "b");
  await expect.poll(() => restart().startupFailures("u", "b")).toBe(1);
  await expect.poll(() => restart().startupFailures("u", "a")).toBe(0);
});

test("a write failure fails the start of a hook, but not a probe", async () => {
  const { dataDirectory, restart } = await setUp();
  await writeFile(join(dataDirectory, "pods"), "a file where the directory should be");
  await expect(restart().hookBegins("u", "a")).rejects.toThrow(/ENOTDIR|EEXIST/);
  expect(() => restart().startupFailed("u", "a")).not.toThrow();
});

test.each(["..", "a/b", ""])("rejects ids that are not a path segment: %j", async (id) => {
  const { restart } = await setUp();
  expect(() => restart().startupFailures("u", id)).toThrow("is not a valid directory name");
});
