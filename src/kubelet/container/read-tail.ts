import { constants, open } from "node:fs/promises";

/**
 * The last bytes of a plain file. Never a link's target, and never a pipe or device: what containers write to is read
 * with the kubelet's rights.
 */
export async function readTail(path: string, maxBytes: number): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new Error(`${path} is not a plain file`);
    const length = Math.min(stat.size, maxBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, stat.size - length);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
