import { constants, type FileHandle, open } from "node:fs/promises";

/**
 * A small file below a directory that containers write to. Each step is taken from the directory that the one before
 * opened, and none through a link: what is swapped meanwhile cannot lead out.
 */
export async function readBeneath(
  directory: string,
  path: string,
  { maxBytes }: { readonly maxBytes: number },
): Promise<Buffer> {
  const steps = path.split("/").filter((step) => step !== "" && step !== ".");
  if (steps.length === 0 || steps.includes(".."))
    throw new Error(`${path} does not name a file below its volume`);
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
  if (!stat.isFile()) throw new Error("it is not a plain file");
  if (stat.size > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(stat.size), 0, stat.size, 0);
  return buffer.subarray(0, bytesRead);
}
