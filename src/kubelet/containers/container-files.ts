import { randomBytes } from "node:crypto";
import { constants, type FileHandle, mkdir, open } from "node:fs/promises";
import { join } from "node:path";

/**
 * Reads a small file below a directory that containers can write to. Each path segment is opened relative to the one
 * before without following symbolic links, so that concurrent changes cannot lead outside the directory.
 */
export async function readBeneath(
  directory: string,
  path: string,
  { maxBytes }: { readonly maxBytes: number },
): Promise<Buffer> {
  const steps = path.split("/").filter((step) => step !== "" && step !== ".");
  if (steps.length === 0 || steps.includes(".."))
    throw new Error(`${path} is not the path of a file in its volume`);
  let at = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    for (const [index, step] of steps.entries()) {
      const kind = index < steps.length - 1 ? constants.O_DIRECTORY : constants.O_NONBLOCK;
      const next = await open(
        `/proc/self/fd/${at.fd}/${step}`,
        constants.O_RDONLY | constants.O_NOFOLLOW | kind,
      );
      await at.close();
      at = next;
    }
    return await readWhole(at, maxBytes);
  } finally {
    await at.close();
  }
}

async function readWhole(file: FileHandle, maxBytes: number): Promise<Buffer> {
  const stat = await file.stat();
  if (!stat.isFile()) throw new Error("not a regular file");
  if (stat.size > maxBytes) throw new Error(`larger than ${maxBytes} bytes`);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(stat.size), 0, stat.size, 0);
  return buffer.subarray(0, bytesRead);
}

/**
 * Reads the last bytes of a regular file. Never follows a symbolic link and never opens a pipe or device, because the
 * file is writable by containers and the kubelet runs as root.
 */
export async function readTail(path: string, maxBytes: number): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new Error(`${path} is not a regular file`);
    const length = Math.min(stat.size, maxBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, stat.size - length);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

const ownDirectory = 0o750;

/**
 * Writes the pod's hosts file. It is written in place, because running containers have it mounted, and only if it
 * differs, so that a full disk does not truncate it.
 */
export async function writeHosts(podDirectory: string, content: string): Promise<string> {
  const path = join(podDirectory, "etc-hosts");
  await mkdir(podDirectory, { recursive: true, mode: ownDirectory });
  await withFile(path, constants.O_RDWR | constants.O_CREAT, async (file) => {
    const bytes = Buffer.from(content);
    if (!(await holds(file, bytes))) {
      const { bytesWritten } = await file.write(bytes, 0, bytes.length, 0);
      if (bytesWritten < bytes.length) throw new Error(`${path} could not be written completely`);
      await file.truncate(bytes.length);
    }
    // Overrides the umask of the kubelet's process.
    await file.chmod(0o644);
  });
  return path;
}

/** Whether the file has these bytes. Containers can write to it, so the amount read is bounded. */
async function holds(file: FileHandle, bytes: Buffer): Promise<boolean> {
  if ((await file.stat()).size !== bytes.length) return false;
  const { buffer } = await file.read(Buffer.alloc(bytes.length), 0, bytes.length, 0);
  return buffer.equals(bytes);
}

/** Creates an empty termination message file that any user can write to. */
export async function createMessageFile(directory: string): Promise<string> {
  await mkdir(directory, { recursive: true, mode: ownDirectory });
  const path = join(directory, randomBytes(4).toString("hex"));
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
  await withFile(path, flags, (file) => file.chmod(0o666));
  return path;
}

async function withFile(
  path: string,
  flags: number,
  use: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const file = await open(path, flags | constants.O_NOFOLLOW);
  try {
    await use(file);
  } finally {
    await file.close();
  }
}
