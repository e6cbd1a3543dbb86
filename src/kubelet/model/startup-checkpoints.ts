// Clauses: 950-6
import { readdirSync, statSync } from "node:fs";
import { appendFile, mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { createKeyedMutex } from "../../lib/keyed-mutex.ts";
import type { Logger } from "../../lib/logger.ts";
import { startupCheckpointPath, startupCheckpointsDirectory } from "./pod-paths.ts";

/**
 * State of starting containers that a restarted kubelet cannot get from the runtime. Each checkpoint is a file in the
 * pod's directory that is written with one system call, so that a killed kubelet never leaves a partial one.
 */
export interface StartupCheckpoints {
  /** Ids of containers whose postStart hook has begun and has not completed. */
  pendingHooks(podUid: string): ReadonlySet<string>;
  hookBegins(podUid: string, containerId: string): Promise<void>;
  hookEnded(podUid: string, containerId: string): Promise<void>;
  /** Number of failures of the container's startup probe. */
  startupFailures(podUid: string, containerId: string): number;
  startupFailed(podUid: string, containerId: string): void;
  /** Removes the failures of a container that has started or exited. */
  startupEnded(podUid: string, containerId: string): void;
}

export function createStartupCheckpoints(options: {
  readonly dataDirectory: string;
  readonly logger: Logger;
}): StartupCheckpoints {
  const { dataDirectory, logger } = options;
  /** Serializes operations on a path, so that a removed checkpoint is not written again by an earlier operation. */
  const mutex = createKeyedMutex();

  async function write(path: string, data: string): Promise<void> {
    await mkdir(dirname(path), { recursive: true, mode: 0o750 });
    await appendFile(path, data, { mode: 0o640 });
  }

  function serialized(path: string, work: () => Promise<void>): Promise<void> {
    return mutex
      .run(path, work)
      .catch((error) => logger.warn("failed to update a startup checkpoint", { path, error }));
  }

  const hook = (podUid: string, id: string) => startupCheckpointPath(dataDirectory, podUid, ["hooks", id]);
  const failures = (podUid: string, id: string) =>
    startupCheckpointPath(dataDirectory, podUid, ["failures", id]);

  return {
    pendingHooks: (podUid) => new Set(namesIn(startupCheckpointsDirectory(dataDirectory, podUid, "hooks"))),
    hookBegins: (podUid, containerId) => write(hook(podUid, containerId), ""),
    hookEnded(podUid, containerId) {
      const path = hook(podUid, containerId);
      return serialized(path, () => rm(path, { force: true }));
    },
    // One byte per failure: appending is atomic, replacing a number would not be.
    startupFailures: (podUid, containerId) =>
      statSync(failures(podUid, containerId), { throwIfNoEntry: false })?.size ?? 0,
    startupFailed(podUid, containerId) {
      const path = failures(podUid, containerId);
      void serialized(path, () => write(path, "."));
    },
    startupEnded(podUid, containerId) {
      const path = failures(podUid, containerId);
      void serialized(path, () => rm(path, { force: true }));
    },
  };
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}
