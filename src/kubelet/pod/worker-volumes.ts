import type { Pod } from "../../api/objects.ts";
import { type BackoffPolicy, type BackoffState, backOff } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { createWakeUp } from "../../lib/wake-up.ts";
import type { MountedVolumes, PodVolumes } from "../volume/pod-volumes.ts";

/** The volumes of one worker's pod: made once, kept up to date from then on. */
export interface WorkerVolumes {
  /** Those that stand are kept up to date by themselves: containers that come later need not make them again. */
  mount(pod: Pod, signal: AbortSignal, onGathered?: () => void): Promise<MountedVolumes>;
  /** Something that their files come from has changed, or may have before this kubelet was there. */
  changed(): void;
  /** The downward API shows the labels and annotations that a pod has now. */
  follow(before: Pod, next: Pod): void;
  /** Brings what stands up to date after each change, until the signal aborts. */
  run(pod: () => Pod, signal: AbortSignal): Promise<void>;
}

/** For a disk that was full, or an API server that was away: nobody tells when they are well again. */
const retryPolicy: BackoffPolicy = { initialMs: 500, maxMs: 60_000, factor: 2, resetAfterMs: 600_000 };

export function createWorkerVolumes(deps: {
  readonly volumes: Pick<PodVolumes, "setUp" | "refresh">;
  readonly clock: Clock;
  readonly logger: Logger;
}): WorkerVolumes {
  const { volumes, clock, logger } = deps;
  const wakeUp = createWakeUp();
  let mounted: MountedVolumes | undefined;

  async function refresh(pod: Pod, signal: AbortSignal, before: BackoffState | undefined) {
    try {
      await volumes.refresh(pod, signal);
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      const log = before ? logger.debug : logger.warn;
      log("volumes are not up to date, trying again", { pod: pod.metadata.name, error });
      return backOff(retryPolicy, before, clock.now());
    }
  }

  return {
    async mount(pod, signal, onGathered) {
      mounted ??= await volumes.setUp(pod, signal, onGathered);
      return mounted;
    },
    changed: wakeUp.wake,
    follow(before, next) {
      if (describesItself(before) !== describesItself(next)) wakeUp.wake();
    },
    async run(pod, signal) {
      let failure: BackoffState | undefined;
      let woken = wakeUp.next();
      try {
        for (;;) {
          await woken.orAt(failure ? clock.now() + failure.delayMs : Infinity, { clock, signal });
          woken = wakeUp.next();
          failure = await refresh(pod(), signal, failure);
        }
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    },
  };
}

/** What a downward API volume shows of a pod and can change. */
function describesItself({ metadata }: Pod): string {
  return JSON.stringify([metadata.labels, metadata.annotations]);
}
