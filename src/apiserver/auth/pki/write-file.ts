import { randomBytes } from "node:crypto";
import { link, open, rename, unlink } from "node:fs/promises";
import { dirname } from "node:path";

interface WriteOptions {
  readonly mode: number;
  /** What becomes of a file that is there already. */
  readonly existing: "replace" | "keep";
}

/**
 * Writes a file so that it is never seen half written, not even after a power failure.
 * Fails with EEXIST where an existing file is to be kept.
 */
export async function writeFileAtomically(path: string, text: string, options: WriteOptions): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  const file = await open(temporary, "wx", options.mode);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    await (options.existing === "keep" ? link(temporary, path) : rename(temporary, path));
  } finally {
    await unlink(temporary).catch(() => {});
  }
  await syncDirectory(dirname(path));
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
