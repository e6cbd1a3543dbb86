import { mkdir, rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { versionInfo } from "../../api/version.ts";
import { identify } from "../../runtime/driver/linux/process-info.ts";
import { claimDataDir } from "../../runtime/state/claim-data-dir.ts";
import { checkVersion } from "./check-version.ts";
import { isRunning, readUpRecord, type UpRecord, writeUpRecord } from "./up-record.ts";

/** What an empty cluster takes at first; with less, the first write would already fail. */
const leastFreeBytes = 8 * 1_024 * 1_024;

export interface OpenDataDir {
  /** What is known of this run so far, for others to read. */
  readonly record: UpRecord;
  /** What an earlier run left. */
  readonly previous: UpRecord | undefined;
  update(changes: Partial<UpRecord>): Promise<void>;
  /** The next one may have it. */
  release(): Promise<void>;
}

/** Makes sure, before anything starts, that the directory can be used, is of this version, and is nobody else's. */
export async function openDataDir(
  dataDir: string,
  run: Pick<UpRecord, "store" | "runtime" | "handlers" | "ephemeral">,
): Promise<OpenDataDir> {
  await makeWritable(dataDir);
  const claim = await claimOrName(dataDir);
  try {
    await checkVersion(dataDir);
    const previous = await readUpRecord(dataDir);
    // The claim is one of this network namespace; a cluster in another one would not have been seen.
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
    // Containers that do not run as root go through it to their volumes.
    await mkdir(dataDir, { recursive: true, mode: 0o711 });
    await writeFile(trial, "");
    await rm(trial);
  } catch (error) {
    throw unusable(dataDir, error);
  }
  const { bavail, bsize } = await statfs(dataDir);
  if (bavail * bsize < leastFreeBytes) throw fullDisk(dataDir);
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
    `the disk that holds ${dataDir} is full: make room, or choose a directory elsewhere with --data-dir`,
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
