import { Buffer } from "node:buffer";
import { constants, type Dirent } from "node:fs";
import { type FileHandle, open, readdir, readFile } from "node:fs/promises";

/**
 * Access to directory trees that a container may change concurrently. A directory is opened once, and its entries are
 * resolved from the open directory through /proc/self/fd, so replacing a parent with a symbolic link has no effect.
 */

/** O_PATH of Linux, which Node does not define: a handle to the path itself that opens no device or pipe. */
const O_PATH = 0o10000000;

export function openDirectory(path: string | Buffer): Promise<FileHandle> {
  return open(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}

/** Opens any path, including a symbolic link itself. */
export function openPlace(path: string | Buffer): Promise<FileHandle> {
  return open(path, O_PATH | constants.O_NOFOLLOW);
}

/** Returns a path that always refers to the open file. */
export function heldPath(held: FileHandle): string {
  return `/proc/self/fd/${held.fd}`;
}

/** Returns the path of an entry. Names are bytes, because containers may use invalid UTF-8. */
export function entryPath(directory: FileHandle, name: string | Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${heldPath(directory)}/`), Buffer.from(name)]);
}

export function readEntries(directory: FileHandle): Promise<Dirent<Buffer>[]> {
  return readdir(heldPath(directory), { withFileTypes: true, encoding: "buffer" });
}

/** Returns the mount ID of an open file. Unlike the device number, it differs for bind mounts of the same disk. */
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

/** Returns the code of a system error, such as `ENOENT`. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** Creates a rejection handler that returns undefined for one error code and rethrows others. */
export function unless<T>(code: string): (error: unknown) => T | undefined {
  return (error) => {
    if (errorCode(error) === code) return undefined;
    throw error;
  };
}
