import type { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { type FileHandle, rename, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import {
  entryPath,
  errorCode,
  mountIdOf,
  openDirectory,
  readEntries,
  unless,
  withHeld,
} from "./held-directory.ts";
import type { Mounter } from "./mounter.ts";

/** Directories of volumes in a pod's directory. Others are not removed here. */
const ownDirectories = ["volume-subpaths", "volumes", "plugins"] as const;

/** Unmounts and removes the volumes of a pod. Removes nothing while anything is still mounted. */
export async function tearDownPod(mounter: Mounter, podDir: string): Promise<void> {
  const failures: unknown[] = [];
  for (const point of await mounter.mountPointsBelow(podDir)) {
    await mounter.unmount(point).catch((error) => void failures.push(error));
  }
  const left = await mounter.mountPointsBelow(podDir);
  if (left.length > 0) {
    throw new AggregateError(failures, `still mounted, nothing was removed: ${left.join(", ")}`);
  }
  for (const name of ownDirectories) await removeTree(join(podDir, name));
  await rmdir(podDir).catch((error) => {
    if (!["ENOENT", "ENOTEMPTY", "EEXIST"].includes(errorCode(error) ?? "")) throw error;
  });
}

/** Maximum depth, because each level holds a file descriptor. Deeper directories are moved to the root first. */
const maxDepth = 64;

interface Removal {
  readonly root: FileHandle;
  readonly rootPath: string;
  readonly mountId: string;
}

/**
 * Removes a directory tree that a container may be changing. Follows no symbolic links and enters no other mount; a mount
 * below it is an error. A missing directory is not.
 */
export async function removeTree(path: string): Promise<void> {
  const opened = await openDirectory(path).catch((error) => {
    const code = errorCode(error);
    if (code === "ENOENT") return undefined;
    if (code === "ENOTDIR" || code === "ELOOP") return unlink(path);
    throw error;
  });
  if (!opened) return;
  await withHeld(Promise.resolve(opened), async (root) => {
    const removal = { root, rootPath: path, mountId: await mountIdOf(root) };
    // Repeats for directories that were moved to the root.
    while (await empty(removal, root, 0));
  });
  await rmdir(path).catch(unless("ENOENT"));
}

/** Empties a directory. Returns whether something was moved to the root. */
async function empty(removal: Removal, directory: FileHandle, depth: number): Promise<boolean> {
  let moved = false;
  for (const entry of await readEntries(directory)) {
    const path = entryPath(directory, entry.name);
    if (!entry.isDirectory()) {
      await unlink(path).catch(unless("ENOENT"));
      continue;
    }
    if (depth >= maxDepth) {
      await rename(path, entryPath(removal.root, `.removing-${randomUUID()}`));
      moved = true;
    } else if (await emptyChild(removal, path, depth)) {
      moved = true;
    }
  }
  return moved;
}

async function emptyChild(removal: Removal, path: Buffer, depth: number): Promise<boolean> {
  const moved = await withHeld(openDirectory(path), async (child) => {
    if ((await mountIdOf(child)) !== removal.mountId) {
      throw new Error(`something is still mounted below ${removal.rootPath}: nothing in it was removed`);
    }
    return empty(removal, child, depth + 1);
  });
  await rmdir(path);
  return moved;
}
