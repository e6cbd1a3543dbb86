import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { removeWithMounts } from "./remove-with-mounts.ts";

it.runIf(process.getuid?.() === 0)("removes what is mounted in a directory with it", async () => {
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
