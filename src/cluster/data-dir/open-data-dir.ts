import { mkdir, rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { versionInfo } from "../../api/meta/version.ts";
import { removeTemporaryFiles } from "../../lib/fs/write-file-atomic.ts";
import { identify } from "../../runtime/drivers/linux/process-info.ts";
import { claimDataDir } from "../../runtime/state/claim-data-dir.ts";
import { checkVersion } from "./check-version.ts";
import { isRunning, readUpRecord, type UpRecord, writeUpRecord } from "./data-dir-files.ts";

/** Space that an empty cluster needs for its first writes. */
const minFreeBytes = 8 * 1_024 * 1_024;

export interface OpenDataDir {
  /** Record of this run. */
  readonly record: UpRecord;
  /** Record of an earlier run. */
  readonly previous: UpRecord | undefined;
  update(changes: Partial<UpRecord>): Promise<void>;
  /** Releases the directory. */
  release(): Promise<void>;
}

/** Checks that the directory is usable, has this version and is not in use, and locks it. */
export async function openDataDir(
  dataDir: string,
  run: Pick<UpRecord, "store" | "runtime" | "handlers" | "ephemeral">,
): Promise<OpenDataDir> {
  await makeWritable(dataDir);
  const claim = await claimOrName(dataDir);
  try {
    await checkVersion(dataDir);
    await removeTemporaryFiles(dataDir);
    const previous = await readUpRecord(dataDir);
    // The lock is per network namespace, so a cluster in another one is not detected by it.
    if (isRunning(previous) && previous.process.pid !== process.pid) throw runsAlready(dataDir, previous);
    const own = identify(process.pid);
    if (!own) throw new Error("/proc is not mounted here, and Kindling needs it: mount -t proc proc /proc");
    let record: UpRecord = {
      process: own,
      version: versionInfo.gitVersion,
      startedAt: Date.now(),
      ...run,
      mergedInto: previous?.mergedInto ?? [],
    };
    await writeUpRecord(dataDir, record);
    return {
      get record() {
        return record;
      },
      previous,
      async update(changes) {
        record = { ...record, ...changes };
        await writeUpRecord(dataDir, record);
      },
      release: () => claim.release(),
    };
  } catch (error) {
    await claim.release();
    throw error;
  }
}

async function makeWritable(dataDir: string): Promise<void> {
  const trial = join(dataDir, `.trial-${process.pid}`);
  try {
    // Non-root containers must be able to traverse it to their volumes.
    await mkdir(dataDir, { recursive: true, mode: 0o711 });
    await writeFile(trial, "");
    await rm(trial);
  } catch (error) {
    throw unusable(dataDir, error);
  }
  const { bavail, bsize } = await statfs(dataDir);
  if (bavail * bsize < minFreeBytes) throw fullDisk(dataDir);
}

function unusable(dataDir: string, error: unknown): Error {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOSPC" || code === "EDQUOT") return fullDisk(dataDir);
  const why =
    {
      EACCES: "this user may not write there",
      EPERM: "this user may not write there",
      EROFS: "its file system is read-only",
      ENOTDIR: "it, or something above it, is a file",
      EEXIST: "it is a file",
    }[code ?? ""] ?? message;
  return new Error(`cannot use the data directory ${dataDir}: ${why}; choose another with --data-dir`);
}

function fullDisk(dataDir: string): Error {
  return new Error(
    `the disk of ${dataDir} is full: free some space, or choose another directory with --data-dir`,
  );
}

async function claimOrName(dataDir: string) {
  try {
    return await claimDataDir(dataDir, "up");
  } catch (error) {
    throw runsAlready(dataDir, await readUpRecord(dataDir), error);
  }
}

function runsAlready(dataDir: string, holder: UpRecord | undefined, cause?: unknown): Error {
  const pid = holder ? ` (pid ${holder.process.pid})` : "";
  return new Error(
    `a cluster runs in ${dataDir} already${pid}: stop it with kindling down --data-dir ${dataDir}, or choose another --data-dir`,
    { cause },
  );
}
