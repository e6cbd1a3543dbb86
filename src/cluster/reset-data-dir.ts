import { lstat, readdir, rm, rmdir } from "node:fs/promises";
import type { Logger } from "../lib/logger.ts";
import { findVersion } from "./data-dir/check-version.ts";
import { dataDirPaths } from "./data-dir/data-dir-paths.ts";
import type { UpRecord } from "./data-dir/up-record.ts";
import { endContainers } from "./end-containers.ts";
import { unmountBelow } from "./unmount-below.ts";

/** "missing": nothing there; "foreign": a directory, but none of ours. */
export async function whatIsThere(dataDir: string): Promise<"cluster" | "missing" | "foreign"> {
  try {
    const found = await lstat(dataDir);
    if ((await findVersion(dataDir)).kind !== "none") return "cluster";
    const names = found.isDirectory() ? await readdir(dataDir) : [];
    return found.isDirectory() && names.length === 0 ? "missing" : "foreign";
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return "missing";
    if (code === "EACCES" || code === "EPERM")
      throw new Error(`${dataDir} is another user's: run it as that one, with sudo if that is root`, {
        cause: error,
      });
    throw error;
  }
}

export interface ResetResult {
  readonly pods: number;
  readonly mounts: number;
  /** What is in the directory and not of the cluster: it stays, and the directory with it. */
  readonly kept: readonly string[];
}

/**
 * Ends all containers of a cluster that is down, undoes its network and its mounts, and removes its data. Only what a
 * cluster makes is removed: the directory may have been somebody's home before.
 */
export async function resetDataDir(options: {
  readonly dataDir: string;
  readonly record: UpRecord | undefined;
  readonly logger: Logger;
}): Promise<ResetResult> {
  const { dataDir } = options;
  const pods = await endContainers(options);
  const { version, ...paths } = dataDirPaths(dataDir);
  let mounts = 0;
  for (const path of Object.values(paths)) {
    mounts += await unmountBelow(path);
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
  }
  // Last: what a failure leaves is still known as ours, and can be reset again.
  await rm(version, { force: true });
  const kept = await readdir(dataDir);
  if (kept.length === 0) await rmdir(dataDir);
  return { pods, mounts, kept };
}
