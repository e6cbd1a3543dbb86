import { realpath, rm } from "node:fs/promises";
import { mountPointsBelow, readMountInfo } from "../../../lib/mount-points.ts";
import { runProgram } from "../../process/run-program.ts";

/**
 * Removes a directory with all that is in it, mounts included: runc mounts a copy of itself in a container's directory for
 * a moment, and leaves it there when it is killed just then.
 */
export async function removeWithMounts(directory: string): Promise<void> {
  const remove = () => rm(directory, { recursive: true, force: true });
  try {
    await remove();
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EBUSY")) throw error;
    const points = mountPointsBelow(await readMountInfo(), await realpath(directory));
    for (const point of points) await runProgram("umount", ["-l", point]);
    await remove();
  }
}
