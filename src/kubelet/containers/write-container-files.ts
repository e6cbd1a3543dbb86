import { randomBytes } from "node:crypto";
import { constants, type FileHandle, mkdir, open } from "node:fs/promises";
import { join } from "node:path";

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
