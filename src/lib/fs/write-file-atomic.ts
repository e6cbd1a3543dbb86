import { randomBytes } from "node:crypto";
import { link, open, readdir, rename, rm, unlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

let count = 0;

interface AtomicWriteOptions {
  /**
   * Path of the temporary file, in the same file system. A file that a crash left there is overwritten. Defaults to a
   * unique path, for files that several callers may write at the same time.
   */
  readonly temporary?: string;
}

/**
 * Replaces a file atomically: after a crash of the process it has either the old or the new content. The file is not
 * synced, which would take longer than the rest of an image pull; data lost in a machine crash is detected and pulled again.
 */
export async function writeFileAtomic(
  file: string,
  data: string | Uint8Array,
  options: AtomicWriteOptions = {},
): Promise<void> {
  const temporary = options.temporary ?? `${file}.${process.pid}-${count++}.tmp`;
  try {
    await writeFile(temporary, data, { flag: options.temporary ? "w" : "wx", mode: 0o600 });
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

interface DurableWriteOptions {
  readonly mode: number;
  /** Defaults to the user and group of this process. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
  /** Whether an existing file is replaced, or kept and reported with EEXIST. */
  readonly existing: "replace" | "keep";
}

/** Creates or replaces a file atomically and syncs it, so that it is never incomplete, even after a power failure. */
export async function writeFileDurably(
  path: string,
  text: string,
  options: DurableWriteOptions,
): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  const file = await open(temporary, "wx", options.mode);
  try {
    try {
      await file.writeFile(text);
      if (options.owner) await file.chown(options.owner.uid, options.owner.gid);
      await file.sync();
    } finally {
      await file.close();
    }
    await (options.existing === "keep" ? link(temporary, path) : rename(temporary, path));
  } finally {
    await unlink(temporary).catch(() => {});
  }
  await syncDirectory(dirname(path));
}

const temporaryName = /\.(?:[0-9a-f]{12}|\d+-\d+)\.tmp$/;

/** Removes the temporary files of killed writers from a directory. No other process may write there meanwhile. */
export async function removeTemporaryFiles(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (temporaryName.test(name)) await rm(join(directory, name), { force: true });
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
