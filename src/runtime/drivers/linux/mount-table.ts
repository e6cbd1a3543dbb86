import { readFileSync } from "node:fs";
import { realpath, rm } from "node:fs/promises";
import { mountPointsBelow, readMountInfo, unescapeOctal } from "../../../lib/fs/mount-points.ts";
import { runProgram } from "../../../lib/process/run-program.ts";

interface MountPoint {
  readonly path: string;
  readonly shared: boolean;
}

/** Mount that contains a path, which must not contain links. */
export function findMount(
  path: string,
  mountinfo = readFileSync("/proc/self/mountinfo", "utf8"),
): MountPoint {
  let found: MountPoint = { path: "/", shared: false };
  for (const line of mountinfo.split("\n")) {
    const [fields, rest] = line.split(" - ");
    const words = fields?.split(" ") ?? [];
    if (rest === undefined || words[4] === undefined) continue;
    const point = unescapeOctal(words[4]);
    const covers = point === "/" || path === point || path.startsWith(`${point}/`);
    // Of several mounts on one path the last one applies.
    if (covers && point.length >= found.path.length) {
      found = { path: point, shared: words.slice(6).some((option) => option.startsWith("shared:")) };
    }
  }
  return found;
}

/**
 * Removes a directory with everything in it, including mounts: runc mounts a copy of itself in a container's directory
 * for a moment, and leaves it when it is killed just then.
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
