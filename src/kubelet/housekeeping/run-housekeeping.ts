import type { CriClient } from "../../cri/cri-client.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
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
  const { clock, logger } = options;
  for (;;) {
    await clock.sleep(everyMs, signal).catch(() => {});
    if (signal.aborted) return;
    try {
      await removeDead(options);
      await rotateLogs(options);
    } catch (error) {
      logger.warn("housekeeping was interrupted; it goes on in ten seconds", { error });
    }
  }
}

async function removeDead({ cri, observer }: HousekeepingOptions): Promise<void> {
  for (const pod of observer.list()) {
    const { containers, sandboxes } = findDead(pod);
    for (const { id } of containers) await unlessGone(cri.runtime.removeContainer({ containerId: id }));
    for (const { id } of sandboxes) await unlessGone(cri.runtime.removePodSandbox({ podSandboxId: id }));
    if (containers.length + sandboxes.length > 0) await observer.refresh(pod.uid);
  }
}

async function rotateLogs(options: HousekeepingOptions): Promise<void> {
  const { cri, clock, containerLogMaxSizeBytes: maxBytes, containerLogMaxFiles: maxFiles } = options;
  for (const pod of options.observer.list()) {
    for (const container of pod.containers) {
      await rotateLog({ cri, maxBytes, maxFiles, now: clock.now() }, container);
    }
  }
}
