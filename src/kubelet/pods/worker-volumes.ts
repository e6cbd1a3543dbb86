import type { Pod } from "../../api/meta/objects.ts";
import { type BackoffPolicy, type BackoffState, backOff } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { createWakeUp } from "../../lib/wake-up.ts";
import type { MountedVolumes, PodVolumes } from "../volumes/pod-volumes.ts";

/** Volumes of one worker's pod: set up once, then updated after changes. */
export interface WorkerVolumes {
  /** Sets up the volumes on the first call and returns the same result afterwards. */
  mount(pod: Pod, signal: AbortSignal, onGathered?: () => void): Promise<MountedVolumes>;
  /** Updates the volumes after a change of their sources, or after a restart of the kubelet. */
  changed(): void;
  /** Updates the volumes if labels or annotations have changed, which the downward API exposes. */
  follow(before: Pod, next: Pod): void;
  /** Updates mounted volumes after each change, until the signal aborts. */
  run(pod: () => Pod, signal: AbortSignal): Promise<void>;
}

/** Retries cover causes without a notification, such as a full disk or an unreachable API server. */
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
      log("failed to update volumes, retrying", { pod: pod.metadata.name, error });
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
      if (downwardFields(before) !== downwardFields(next)) wakeUp.wake();
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

/** Fields of the pod that a downward API volume exposes and that can change. */
function downwardFields({ metadata }: Pod): string {
  return JSON.stringify([metadata.labels, metadata.annotations]);
}
