import { constants, type FileHandle, open } from "node:fs/promises";

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
