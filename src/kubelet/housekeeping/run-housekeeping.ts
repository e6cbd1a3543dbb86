import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { CriClient } from "../../cri/cri-client.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { ObservedPod } from "../observed-pod.ts";
import { unlessGone } from "../pod/clean-up-pod.ts";
import type { PodObserver } from "../pod-observer.ts";
import { findDead } from "./find-dead.ts";
import { rotateLog } from "./rotate-logs.ts";

export interface HousekeepingOptions {
  readonly cri: CriClient;
  readonly observer: Pick<PodObserver, "list" | "refresh">;
  readonly containerLogMaxSizeBytes: number;
  readonly containerLogMaxFiles: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

const everyMs = 10_000;

/** Removes what restarts leave behind and keeps logs at their size, every ten seconds until the signal aborts. */
export async function runHousekeeping(options: HousekeepingOptions, signal: AbortSignal): Promise<void> {
  const { clock, logger, observer } = options;
  for (;;) {
    await clock.sleep(everyMs, signal).catch(() => {});
    if (signal.aborted) return;
    for (const pod of [...observer.list()]) {
      try {
        await removeDead(options, pod);
        await rotateLogs(options, pod);
      } catch (error) {
        // One pod that cannot be tidied up does not keep the others from it.
        logger.warn("a pod could not be tidied up; it is tried again in ten seconds", {
          pod: pod.name,
          error,
        });
      }
    }
  }
}

async function removeDead({ cri, observer }: HousekeepingOptions, pod: ObservedPod): Promise<void> {
  const { containers, sandboxes } = findDead(pod);
  for (const { id, logPath } of containers) {
    await unlessGone(cri.runtime.removeContainer({ containerId: id }));
    await removeLog(logPath);
  }
  for (const { id } of sandboxes) await unlessGone(cri.runtime.removePodSandbox({ podSandboxId: id }));
  if (containers.length + sandboxes.length > 0) await observer.refresh(pod.uid);
}

/** With what was put aside of it: nobody can ask for it without the container. */
async function removeLog(logPath: string): Promise<void> {
  if (!logPath) return;
  const directory = dirname(logPath);
  const name = basename(logPath);
  const names = await readdir(directory).catch(() => []);
  const own = names.filter((one) => one === name || one.startsWith(`${name}.`));
  for (const one of own) await rm(join(directory, one), { force: true });
}

async function rotateLogs(options: HousekeepingOptions, pod: ObservedPod): Promise<void> {
  const { cri, clock, containerLogMaxSizeBytes: maxBytes, containerLogMaxFiles: maxFiles } = options;
  for (const container of pod.containers) {
    await rotateLog({ cri, maxBytes, maxFiles, now: clock.now() }, container);
  }
}
