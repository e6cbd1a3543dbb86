import { lstat, readdir, rm, rmdir } from "node:fs/promises";
import type { Logger } from "../../lib/logger.ts";
import { findVersion } from "../data-dir/check-version.ts";
import { dataDirPaths, type UpRecord } from "../data-dir/data-dir-files.ts";
import { endContainers } from "../host/end-containers.ts";
import { unmountBelow } from "../host/unmount-below.ts";

/** State of the directory; "foreign": it contains no data of Kindling. */
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
      throw new Error(
        `${dataDir} belongs to another user: run the command as that user, with sudo if that is root`,
        {
          cause: error,
        },
      );
    throw error;
  }
}

export interface ResetResult {
  readonly pods: number;
  readonly mounts: number;
  /** Entries that do not belong to the cluster; they and the directory are kept. */
  readonly kept: readonly string[];
}

/**
 * Stops all containers of a stopped cluster and removes its network, mounts and data. Only entries that a cluster creates
 * are removed, because the directory can contain other files.
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
  // Removed last, so that the reset can be repeated after a failure.
  await rm(version, { force: true });
  const kept = await readdir(dataDir);
  if (kept.length === 0) await rmdir(dataDir);
  return { pods, mounts, kept };
}
