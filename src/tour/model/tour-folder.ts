import { lstat, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isRunning, readUpRecord } from "../../cluster/data-dir/up-record.ts";
import { resetDataDir } from "../../cluster/lifecycle/reset-data-dir.ts";
import type { Logger } from "../../lib/logger.ts";

export const folderPrefix = "kindling-tour-";

export function clusterDirOf(folder: string): string {
  return join(folder, "cluster");
}

/** Stops and removes what killed tours have left. Returns the removed directories. */
export async function sweepLeftovers({ logger }: { readonly logger: Logger }): Promise<readonly string[]> {
  const names = (await readdir(tmpdir())).filter((name) => name.startsWith(folderPrefix));
  const swept: string[] = [];
  for (const folder of names.map((name) => join(tmpdir(), name))) {
    if (!(await isOurs(folder))) continue;
    const dataDir = clusterDirOf(folder);
    const record = await readUpRecord(dataDir);
    // A tour without a record is starting, or was killed before it started any process.
    if (!record || isRunning(record)) continue;
    await resetDataDir({ dataDir, record, logger });
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    swept.push(folder);
  }
  return swept;
}

/** Other users can create directories in the temporary directory: only own, private ones are removed. */
async function isOurs(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(() => undefined);
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
}
