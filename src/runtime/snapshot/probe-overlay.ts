import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { runProgram } from "../process/run-program.ts";

/** Whether overlayfs can be mounted with its layers in the directory: not without root, nor on every file system. */
export async function canMountOverlay(directory: string): Promise<boolean> {
  const probe = join(directory, `probe-${process.pid}`);
  try {
    for (const name of ["l", "u", "w", "m"]) await mkdir(join(probe, name), { recursive: true });
    await runProgram("mount", ["-t", "overlay", "overlay", "-o", "lowerdir=l,upperdir=u,workdir=w", "m"], {
      cwd: probe,
    });
    await runProgram("umount", [join(probe, "m")]);
    return true;
  } catch {
    return false;
  } finally {
    await rm(probe, { recursive: true, force: true });
  }
}
