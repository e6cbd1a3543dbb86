import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { findMount, removeWithMounts } from "./mount-table.ts";

const table = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda rw
30 22 0:30 / /data rw - tmpfs tmpfs rw
31 30 0:31 / /data/my\\040files rw shared:7 master:2 - tmpfs tmpfs rw
`;

it.each([
  ["/etc/passwd", "/", true],
  ["/data", "/data", false],
  ["/database", "/", true],
  ["/data/x/y", "/data", false],
  ["/data/my files/x", "/data/my files", true],
])("finds for %s the mount %s", (path, point, shared) => {
  expect(findMount(path, table)).toEqual({ path: point, shared });
});

it.runIf(process.getuid?.() === 0)("removes a directory with mounts in it", async () => {
  const directory = mkdtempSync(join(tmpdir(), "kindling-mounted-"));
  const program = join(directory, "inner/runc.tmp");
  mkdirSync(join(directory, "inner"));
  writeFileSync(program, "");
  execFileSync("mount", ["--bind", process.execPath, program]);
  await removeWithMounts(directory);
  expect(existsSync(directory)).toBe(false);
  expect(existsSync(process.execPath)).toBe(true);
  await removeWithMounts(directory);
});
