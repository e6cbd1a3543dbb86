import { watch } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Pod } from "../../api/objects.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { createWakeUp } from "../../lib/wake-up.ts";
import { parseStaticPod } from "./parse-static-pod.ts";

export interface StaticPodSourceOptions {
  readonly directory: string;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** All pods of the directory, whenever they have changed, by uid. */
  readonly onPods: (pods: ReadonlyMap<string, Pod>) => void;
}

const rereadMs = 20_000;
const maxFileBytes = 10 * 1024 * 1024;

/** Reads the directory of static pods, at once when it changes and every 20 s all the same. */
export async function runStaticPodSource(
  options: StaticPodSourceOptions,
  signal: AbortSignal,
): Promise<void> {
  const { directory, clock, logger } = options;
  const wakeUp = createWakeUp();
  let watching = false;
  const notWatched = (error: unknown) => {
    if (watching) logger.warn("static pods are not watched any more: they are read every 20 s", { error });
    watching = false;
  };
  while (!signal.aborted) {
    const woken = wakeUp.next();
    if (!watching) {
      try {
        // Before it is read: what changes in between is read again.
        watch(directory, { signal }, () => wakeUp.wake()).on("error", notWatched);
        watching = true;
      } catch (error) {
        logger.debug("the directory of static pods cannot be watched yet", { directory, error });
      }
    }
    try {
      options.onPods(await readStaticPods(options));
    } catch (error) {
      // What ran goes on running: a directory that cannot be read for a moment must not end its pods.
      logger.error("the directory of static pods cannot be read", { directory, error });
    }
    await woken.orAt(clock.now() + rereadMs, { clock, signal }).catch(() => {});
  }
}

async function readStaticPods({
  directory,
  nodeName,
  logger,
}: StaticPodSourceOptions): Promise<ReadonlyMap<string, Pod>> {
  const pods = new Map<string, Pod>();
  for (const file of (await listFiles(directory)).sort()) {
    // As upstream: editors leave files with a dot in front beside those they write.
    if (file.startsWith(".")) continue;
    const path = join(directory, file);
    try {
      const pod = parseStaticPod({ path, text: await readSmallFile(path) }, nodeName);
      pods.set(pod.metadata.uid ?? "", pod);
    } catch (error) {
      logger.error("a static pod cannot be used", { path, error });
    }
  }
  return pods;
}

/** A directory that is not there has no pods, as upstream: it may be made later. */
async function listFiles(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

async function readSmallFile(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size > maxFileBytes) throw new Error(`${path} is larger than ${maxFileBytes} bytes`);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}
