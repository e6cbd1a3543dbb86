import { mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { readlink } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { heldPath } from "./held-directory.ts";
import { openSubPath } from "./sub-path.ts";
import { temporaryDirectory } from "./temporary-directory.fixture.ts";

const folder = temporaryDirectory();
const outside = join(folder, "outside");
const volumePath = join(folder, "volume");

beforeEach(() => {
  mkdirSync(outside);
  writeFileSync(join(outside, "secret"), "host");
  mkdirSync(join(volumePath, "dir/sub"), { recursive: true });
  writeFileSync(join(volumePath, "dir/file"), "inside");
});
afterEach(() => {
  rmSync(outside, { recursive: true });
  rmSync(volumePath, { recursive: true });
});

/** Returns the real path of the opened file. */
async function resolve(subPath: string, create = true): Promise<string> {
  const held = await openSubPath({ volumePath, subPath, create });
  try {
    return await readlink(heldPath(held));
  } finally {
    await held.close();
  }
}

test.each([
  ["dir/file", "dir/file"],
  ["./dir//sub/", "dir/sub"],
  [".", ""],
  ["to-file", "dir/file"],
  ["to-dir/file", "dir/file"],
  ["dir/up", "dir/file"],
  ["dir/sub/far-up/dir/file", "dir/file"],
])("resolves %s", async (subPath, expected) => {
  symlinkSync("dir/file", join(volumePath, "to-file"));
  symlinkSync("./dir", join(volumePath, "to-dir"));
  symlinkSync("../to-file", join(volumePath, "dir/up"));
  symlinkSync("../..", join(volumePath, "dir/sub/far-up"));
  expect(await resolve(subPath)).toBe(join(volumePath, expected));
});

test.each([
  ["an absolute link", outside, "the path contains an absolute symbolic link"],
  ["a link above the volume", "../outside", "the path leads outside the volume"],
  ["a link far above the volume", "dir/../../../../../etc", "the path leads outside the volume"],
  ["a link to itself", "planted", "the path contains too many symbolic links"],
])("rejects %s", async (_name, target, problem) => {
  symlinkSync(target, join(volumePath, "planted"));
  await expect(resolve("planted")).rejects.toThrow(problem);
  await expect(resolve("planted/secret")).rejects.toThrow(problem);
});

test("creates missing directories with the volume's mode", async () => {
  expect(await resolve("new/deep")).toBe(join(volumePath, "new/deep"));
  const modes = [volumePath, join(volumePath, "new"), join(volumePath, "new/deep")].map(
    (path) => statSync(path).mode,
  );
  expect(new Set(modes).size).toBe(1);
  await expect(resolve("not/here", false)).rejects.toThrow(
    "the path does not exist, and the volume is read-only",
  );
  await expect(resolve("dir/file/below")).rejects.toThrow("ENOTDIR");
});

test("creates nothing through a link", async () => {
  symlinkSync(join(outside, "made"), join(volumePath, "planted"));
  symlinkSync("../outside/made", join(volumePath, "relative"));
  await expect(resolve("planted/x")).rejects.toThrow();
  await expect(resolve("relative/x")).rejects.toThrow();
  expect(() => statSync(join(outside, "made"))).toThrow("ENOENT");
});

test("a directory that is repeatedly replaced by a link never leads outside", async () => {
  writeFileSync(join(volumePath, "dir/secret"), "inside");
  symlinkSync(outside, join(volumePath, "evil"));
  let swapping = true;
  const swap = async () => {
    while (swapping) {
      for (const [from, to] of [
        ["dir", "aside"],
        ["evil", "dir"],
        ["dir", "evil"],
        ["aside", "dir"],
      ] as const) {
        renameSync(join(volumePath, from), join(volumePath, to));
        await turn();
      }
    }
  };
  const swapped = swap();
  const found: string[] = [];
  // On a busy machine most attempts meet a link or no directory, so there are as many as some successes take.
  for (let attempt = 0; attempt < 300 || (found.length <= 10 && attempt < 30_000); attempt++) {
    const held = await openSubPath({ volumePath, subPath: "dir/secret", create: false }).catch(
      () => undefined,
    );
    if (held) {
      found.push(readFileSync(heldPath(held), "utf8"));
      await held.close();
    }
  }
  swapping = false;
  await swapped;
  expect(found.length).toBeGreaterThan(10);
  expect(new Set(found)).toEqual(new Set(["inside"]));
});
