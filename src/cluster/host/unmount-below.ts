import { realpath } from "node:fs/promises";
import { createMounter } from "../../kubelet/volumes/mounter.ts";

/** Unmounts everything below a directory and returns the number of mounts. */
export async function unmountBelow(directory: string): Promise<number> {
  const mounter = createMounter();
  // The kernel lists mounts by their real paths.
  const path = await realpath(directory).catch(() => directory);
  const points = await mounter.mountPointsBelow(path);
  for (const point of points) {
    try {
      await mounter.unmount(point);
    } catch (error) {
      // A runtime that is just stopping may unmount the same point.
      if ((await mounter.mountPointsBelow(point)).includes(point)) throw error;
    }
  }
  return points.length;
}
