import { chmodSync, chownSync, lstatSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { applyFsGroup, groupBits, isRootRight } from "./fs-group.ts";
import { temporaryDirectory } from "./temporary-directory.fixture.ts";

const folder = temporaryDirectory();
const isRoot = process.getuid?.() === 0;

test.each([
  ["file", false, 0o660],
  ["file", true, 0o440],
  ["directory", false, 0o2770],
  ["directory", true, 0o2550],
] as const)("bits for a %s, read-only %s", (kind, readOnly, bits) => {
  expect(groupBits(kind, readOnly)).toBe(bits);
});

test.each([
  ["right", { gid: 5, mode: 0o42775 }, true],
  ["another group", { gid: 6, mode: 0o42775 }, false],
  ["no set-group bit", { gid: 5, mode: 0o40775 }, false],
  ["not writable", { gid: 5, mode: 0o42755 }, false],
])("a volume's top directory: %s", (_name, { gid, mode }, right) => {
  expect(isRootRight({ gid, mode, isDirectory: () => true }, { gid: 5, readOnly: false })).toBe(right);
});

test.skipIf(!isRoot)("changes the group of the content and nothing outside of the volume", async () => {
  const outside = join(folder, "outside");
  writeFileSync(outside, "");
  chmodSync(outside, 0o600);
  const volume = join(folder, "volume");
  mkdirSync(join(volume, "dir"), { recursive: true });
  writeFileSync(join(volume, "dir/file"), "");
  chmodSync(join(volume, "dir/file"), 0o604);
  symlinkSync(outside, join(volume, "dir/link"));

  expect(await applyFsGroup(volume, { gid: 4321, readOnly: false })).toBe(0);
  const { gid, mode } = statSync(join(volume, "dir/file"));
  expect([gid, mode & 0o7777]).toEqual([4321, 0o664]);
  expect(statSync(join(volume, "dir")).mode & 0o2770).toBe(0o2770);
  expect(statSync(volume).gid).toBe(4321);
  expect(lstatSync(join(volume, "dir/link")).gid).toBe(4321);
  expect([statSync(outside).gid, statSync(outside).mode & 0o7777]).toEqual([0, 0o600]);
});

test.skipIf(!isRoot)("on a root mismatch only", async () => {
  const volume = join(folder, "policy");
  mkdirSync(volume);
  const group = { gid: 4321, readOnly: false, onRootMismatch: true };
  await applyFsGroup(volume, group);
  writeFileSync(join(volume, "later"), "");
  chownSync(join(volume, "later"), 0, 7);
  await applyFsGroup(volume, group);
  expect(statSync(join(volume, "later")).gid).toBe(7);
  await applyFsGroup(volume, { ...group, onRootMismatch: false });
  expect(statSync(join(volume, "later")).gid).toBe(4321);
});
