import { readdirSync, statSync } from "node:fs";
import { appendFile, mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { createKeyedMutex } from "../../lib/keyed-mutex.ts";
import type { Logger } from "../../lib/logger.ts";
import { startupNotePath, startupNotesDirectory } from "./pod-paths.ts";

/**
 * What the next kubelet has to know of containers that are on their way up, and the runtime cannot tell it. Each note
 * is a file in the pod's directory that is written in one step: a kubelet that is killed leaves it whole or not at all.
 */
export interface StartupNotes {
  /** Containers, by id, whose postStart hook was begun and has not ended. */
  pendingHooks(podUid: string): ReadonlySet<string>;
  hookBegins(podUid: string, containerId: string): Promise<void>;
  hookEnded(podUid: string, containerId: string): Promise<void>;
  /** How often the startup probe of a container has failed. */
  startupFailures(podUid: string, containerId: string): number;
  startupFailed(podUid: string, containerId: string): void;
  /** It has started, or it runs no more: nobody will ask again. */
  startupEnded(podUid: string, containerId: string): void;
}

export function createStartupNotes(options: {
  readonly dataDirectory: string;
  readonly logger: Logger;
}): StartupNotes {
  const { dataDirectory, logger } = options;
  /** By path: what is removed is not written again by what came before. */
  const turns = createKeyedMutex();

  async function write(path: string, data: string): Promise<void> {
    await mkdir(dirname(path), { recursive: true, mode: 0o750 });
    await appendFile(path, data, { mode: 0o640 });
  }

  function inTurn(path: string, work: () => Promise<void>): Promise<void> {
    return turns
      .run(path, work)
      .catch((error) => logger.warn("a note for the next kubelet was not kept", { path, error }));
  }

  const hook = (podUid: string, id: string) => startupNotePath(dataDirectory, podUid, ["hooks", id]);
  const failures = (podUid: string, id: string) => startupNotePath(dataDirectory, podUid, ["failures", id]);

  return {
    pendingHooks: (podUid) => new Set(namesIn(startupNotesDirectory(dataDirectory, podUid, "hooks"))),
    hookBegins: (podUid, containerId) => write(hook(podUid, containerId), ""),
    hookEnded(podUid, containerId) {
      const path = hook(podUid, containerId);
      return inTurn(path, () => rm(path, { force: true }));
    },
    // A byte for each: a number would have to be replaced, and could be lost on the way.
    startupFailures: (podUid, containerId) =>
      statSync(failures(podUid, containerId), { throwIfNoEntry: false })?.size ?? 0,
    startupFailed(podUid, containerId) {
      const path = failures(podUid, containerId);
      void inTurn(path, () => write(path, "."));
    },
    startupEnded(podUid, containerId) {
      const path = failures(podUid, containerId);
      void inTurn(path, () => rm(path, { force: true }));
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
