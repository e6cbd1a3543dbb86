import { realpath } from "node:fs/promises";
import { createMounter } from "../kubelet/volume/mounter.ts";

/** Unmounts whatever is mounted in a directory, and answers how much that was. */
export async function unmountBelow(directory: string): Promise<number> {
  const mounter = createMounter();
  // The kernel names mounts by their real paths.
  const path = await realpath(directory).catch(() => directory);
  const points = await mounter.mountPointsBelow(path);
  for (const point of points) await mounter.unmount(point);
  return points.length;
}
