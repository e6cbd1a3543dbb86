import type { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { rename, rmdir, unlink } from "node:fs/promises";
import {
  entryPath,
  errorCode,
  mountIdOf,
  openDirectory,
  readEntries,
  unless,
  withHeld,
} from "./held-directory.ts";

/** Each level holds a file descriptor: what is nested deeper is moved up to the top first. */
const maxDepth = 64;

interface Removal {
  readonly root: FileHandle;
  readonly rootPath: string;
  readonly mountId: string;
}

/**
 * Removes a directory that a container could write to, with all in it. Follows no symbolic link and enters no other
 * mount, whatever is planted there while it runs: a mount below ends it with an error. No directory is no error.
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
    // What was too deep is at the top now: again, until nothing is left.
    while (await empty(removal, root, 0));
  });
  await rmdir(path).catch(unless("ENOENT"));
}

/** True when something was moved to the top. */
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
