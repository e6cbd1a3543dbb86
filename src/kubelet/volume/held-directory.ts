import { Buffer } from "node:buffer";
import { constants, type Dirent } from "node:fs";
import { type FileHandle, open, readdir, readFile } from "node:fs/promises";

/**
 * Paths in trees that a container may be changing at the same time. A directory is opened once, and its entries are
 * looked up from the open directory through /proc/self/fd: whoever swaps a parent for a symbolic link changes nothing.
 */

/** Linux only, and missing in Node's constants: a handle on the place itself, which opens no device or pipe. */
const O_PATH = 0o10000000;

export function openDirectory(path: string | Buffer): Promise<FileHandle> {
  return open(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}

/** Whatever the path is, a symbolic link too. */
export function openPlace(path: string | Buffer): Promise<FileHandle> {
  return open(path, O_PATH | constants.O_NOFOLLOW);
}

/** A path that leads to what is open and nowhere else. */
export function heldPath(held: FileHandle): string {
  return `/proc/self/fd/${held.fd}`;
}

/** Names are bytes: a container may use any but the slash. */
export function entryPath(directory: FileHandle, name: string | Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${heldPath(directory)}/`), Buffer.from(name)]);
}

export function readEntries(directory: FileHandle): Promise<Dirent<Buffer>[]> {
  return readdir(heldPath(directory), { withFileTypes: true, encoding: "buffer" });
}

/** Which mount the open place is in: two places of one mount have the same, a bind mount of the same disk another. */
export async function mountIdOf(held: FileHandle): Promise<string> {
  const info = await readFile(`/proc/self/fdinfo/${held.fd}`, "utf8");
  const id = /^mnt_id:\s*(\d+)$/m.exec(info)?.[1];
  if (id === undefined) throw new Error("/proc/self/fdinfo has no mnt_id");
  return id;
}

export async function withHeld<T>(
  opening: Promise<FileHandle>,
  use: (held: FileHandle) => Promise<T>,
): Promise<T> {
  const held = await opening;
  try {
    return await use(held);
  } finally {
    await held.close();
  }
}

/** The code of a system error: `ENOENT`. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** Undefined in the place of one kind of system error. */
export function unless<T>(code: string): (error: unknown) => T | undefined {
  return (error) => {
    if (errorCode(error) === code) return undefined;
    throw error;
  };
}
