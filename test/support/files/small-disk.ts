import { spawnSync } from "node:child_process";
import { mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A file system of a few megabytes. */
export interface SmallDisk {
  readonly path: string;
  resize(megabytes: number): void;
  remove(): void;
}

/** Undefined where this process may not mount. */
export function mountSmallDisk(megabytes: number): SmallDisk | undefined {
  const path = mkdtempSync(join(tmpdir(), "kindling-disk-"));
  if (!run("mount", "-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", path)) {
    rmdirSync(path);
    return undefined;
  }
  return {
    path,
    resize: (size) => void run("mount", "-o", `remount,size=${size}m`, path),
    remove() {
      run("umount", path);
      rmdirSync(path);
    },
  };
}

function run(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}
