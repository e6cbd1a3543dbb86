import type { Buffer } from "node:buffer";
import { chmod, chown, type FileHandle, lchown, stat } from "node:fs/promises";
import {
  entryPath,
  heldPath,
  openDirectory,
  openPlace,
  readEntries,
  unless,
  withHeld,
} from "./held-directory.ts";

export interface FsGroup {
  readonly gid: number;
  /** Makes files readable, but not writable, for the group. */
  readonly readOnly: boolean;
  /** Skips the volume if its root directory already has the group. */
  readonly onRootMismatch?: boolean;
}

const setgid = 0o2000;
/** Maximum depth, because each level holds a file descriptor. */
const maxDepth = 2_000;
const atOnce = 16;

/** Permission bits to add for the group. */
export function groupBits(kind: "file" | "directory", readOnly: boolean): number {
  const access = readOnly ? 0o440 : 0o660;
  return kind === "file" ? access : access | 0o110 | setgid;
}

/** Returns whether the root directory shows that the group was already applied. */
export function isRootRight(
  root: { mode: number; gid: number; isDirectory(): boolean },
  group: FsGroup,
): boolean {
  const needed = groupBits("directory", group.readOnly);
  return root.isDirectory() && root.gid === group.gid && (root.mode & needed) === needed;
}

/**
 * Applies the pod's `fsGroup` to a volume. The root directory is changed last, as a marker of completion. As upstream,
 * files that cannot be changed are skipped (no root, read-only disk). Returns their number.
 */
export async function applyFsGroup(directory: string, group: FsGroup): Promise<number> {
  if (group.onRootMismatch && isRootRight(await stat(directory), group)) return 0;
  return withHeld(openDirectory(directory), (root) => giveTree(root, group, 0));
}

async function giveTree(directory: FileHandle, group: FsGroup, depth: number): Promise<number> {
  if (depth > maxDepth) throw new Error(`fsGroup: directories are nested more than ${maxDepth} deep`);
  const entries = await readEntries(directory);
  const files = entries.filter((entry) => !entry.isDirectory());
  let failed = 0;
  for (let at = 0; at < files.length; at += atOnce) {
    const some = files.slice(at, at + atOnce);
    const results = await Promise.all(some.map((file) => giveFile(entryPath(directory, file.name), group)));
    failed += results.filter((given) => !given).length;
  }
  for (const entry of entries) {
    if (!entry.isDirectory()) continue;
    const child = await openDirectory(entryPath(directory, entry.name)).catch(unless<FileHandle>("ENOENT"));
    if (child) failed += await withHeld(Promise.resolve(child), (held) => giveTree(held, group, depth + 1));
  }
  return failed + ((await give(directory, group, "directory")) ? 0 : 1);
}

async function giveFile(path: Buffer, group: FsGroup): Promise<boolean> {
  const place = await openPlace(path).catch(unless<FileHandle>("ENOENT"));
  if (!place) return true;
  return withHeld(Promise.resolve(place), async (file) => {
    if (!(await file.stat()).isSymbolicLink()) return give(file, group, "file");
    // A symbolic link has no mode, and chmod would change its target.
    return succeeds(lchown(path, -1, group.gid));
  });
}

async function give(place: FileHandle, group: FsGroup, kind: "file" | "directory"): Promise<boolean> {
  const { mode } = await place.stat();
  const owned = await succeeds(chown(heldPath(place), -1, group.gid));
  // After chown, which clears the setgid bit.
  const opened = await succeeds(chmod(heldPath(place), (mode & 0o7777) | groupBits(kind, group.readOnly)));
  return owned && opened;
}

function succeeds(change: Promise<void>): Promise<boolean> {
  return change.then(
    () => true,
    () => false,
  );
}
