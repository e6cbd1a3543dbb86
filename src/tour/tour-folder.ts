import { lstat, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isRunning, readUpRecord } from "../cluster/data-dir/up-record.ts";
import { resetDataDir } from "../cluster/reset-data-dir.ts";
import type { Logger } from "../lib/logger.ts";

export const folderPrefix = "kindling-tour-";

export function clusterDirOf(folder: string): string {
  return join(folder, "cluster");
}

/** Ends and removes what a tour that was killed has left, if anything; answers with the folders that were. */
export async function sweepLeftovers({ logger }: { readonly logger: Logger }): Promise<readonly string[]> {
  const names = (await readdir(tmpdir())).filter((name) => name.startsWith(folderPrefix));
  const swept: string[] = [];
  for (const folder of names.map((name) => join(tmpdir(), name))) {
    if (!(await isOurs(folder))) continue;
    const dataDir = clusterDirOf(folder);
    const record = await readUpRecord(dataDir);
    // One without a record is only just starting, or was killed before it had made anything that runs.
    if (!record || isRunning(record)) continue;
    await resetDataDir({ dataDir, record, logger });
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    swept.push(folder);
  }
  return swept;
}

/** Anybody may make a folder of that name where temporary files are: another's is not touched, nor believed. */
async function isOurs(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(() => undefined);
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
}
