import { lstat, readdir, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, unless } from "./held-directory.ts";
import type { Mounter } from "./mounter.ts";
import { removeTree } from "./remove-tree.ts";

/** What this folder puts into a pod's directory; the rest of it is not ours to remove. */
const ownDirectories = ["volume-subpaths", "volumes", "plugins"] as const;

/** Unmounts and removes the volumes of a pod. Nothing is removed as long as anything is mounted there. */
export async function tearDownPod(mounter: Mounter, podDir: string): Promise<void> {
  const refusals: unknown[] = [];
  for (const point of await mounter.mountPointsBelow(podDir)) {
    await mounter.unmount(point).catch((error) => void refusals.push(error));
  }
  const left = await mounter.mountPointsBelow(podDir);
  if (left.length > 0) {
    throw new AggregateError(refusals, `still mounted, nothing was removed: ${left.join(", ")}`);
  }
  for (const name of ownDirectories) await removeTree(join(podDir, name));
  await rmdir(podDir).catch((error) => {
    if (!["ENOENT", "ENOTEMPTY", "EEXIST"].includes(errorCode(error) ?? "")) throw error;
  });
}

/** Pods that have something of ours below `podsDir`. */
export async function podsWithVolumes(podsDir: string): Promise<string[]> {
  const pods = (await readdir(podsDir, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  const found = await Promise.all(
    pods.map(async ({ name }) => {
      const own = ownDirectories.map((directory) =>
        lstat(join(podsDir, name, directory)).catch(unless("ENOENT")),
      );
      return (await Promise.all(own)).some((stats) => stats !== undefined) ? name : undefined;
    }),
  );
  return found.filter((name) => name !== undefined);
}
