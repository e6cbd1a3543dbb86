import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readInRootfs } from "./read-in-rootfs.ts";

let outside: string;
let rootfs: string;

beforeEach(async () => {
  outside = await mkdtemp(join(tmpdir(), "kindling-rootfs-"));
  rootfs = join(outside, "rootfs");
  await mkdir(join(rootfs, "etc"), { recursive: true });
  await writeFile(join(outside, "secret"), "the host's");
  await writeFile(join(rootfs, "secret"), "the image's");
});
afterEach(() => rm(outside, { recursive: true, force: true }));

test("a file is read", async () => {
  await writeFile(join(rootfs, "etc/passwd"), "root:x:0:0");
  expect(await readInRootfs(rootfs, "/etc/passwd")).toBe("root:x:0:0");
});

test.each(["../../../secret", "/secret", "../secret", "../etc/../../secret"])(
  "a link to %s stays in the image",
  async (target) => {
    await symlink(target, join(rootfs, "etc/passwd"));
    expect(await readInRootfs(rootfs, "/etc/passwd")).toBe("the image's");
  },
);

test("a linked directory stays in the image", async () => {
  await rm(join(rootfs, "etc"), { recursive: true });
  await symlink("../..", join(rootfs, "etc"));
  expect(await readInRootfs(rootfs, "/etc/secret")).toBe("the image's");
});

test.each(["missing", "a directory", "a loop"])("%s reads as empty", async (what) => {
  if (what === "a directory") await mkdir(join(rootfs, "etc/passwd"));
  if (what === "a loop") await symlink("passwd", join(rootfs, "etc/passwd"));
  expect(await readInRootfs(rootfs, "/etc/passwd")).toBe("");
});
