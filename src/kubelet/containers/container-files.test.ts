import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readBeneath } from "./container-files.ts";

let volume: string;

beforeAll(async () => {
  volume = await mkdtemp(join(tmpdir(), "beneath-"));
  await mkdir(join(volume, "a/b"), { recursive: true });
  await writeFile(join(volume, "a/b/file"), "found");
  await symlink("/etc", join(volume, "etc"));
  await symlink("/etc/passwd", join(volume, "passwd"));
});

afterAll(() => rm(volume, { recursive: true, force: true }));

const read = (path: string, maxBytes = 100) => readBeneath(volume, path, { maxBytes });

test.each(["a/b/file", "./a//b/file"])("%s is found", async (path) => {
  expect((await read(path)).toString()).toBe("found");
});

test.each(["", "..", "a/../../x", "etc/passwd", "passwd", "a/b", "a/none", "a/b/file/x"])(
  "%j is not read",
  async (path) => {
    await expect(read(path)).rejects.toThrow();
  },
);

test("rejects a file above the limit", async () => {
  await expect(read("a/b/file", 4)).rejects.toThrow("larger than 4 bytes");
});
