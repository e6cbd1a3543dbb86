import type { Pod } from "../../api/objects.ts";
import { type BackoffPolicy, retry } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { MountedVolumes, PodVolumes } from "../volume/pod-volumes.ts";

/** The volumes of one worker's pod: made once, followed from then on. */
export interface WorkerVolumes {
  /** Those that stand are kept up to date by themselves: containers that come later need not make them again. */
  mount(pod: Pod, signal: AbortSignal, onGathered?: () => void): Promise<MountedVolumes>;
  /** What a kubelet before this one has mounted is kept up to date from now on. */
  takeOver(pod: () => Pod, signal: AbortSignal): Promise<void>;
  /** The downward API shows the labels and annotations that a pod has now. */
  follow(before: Pod, next: Pod, signal: AbortSignal): void;
}

/** Whatever else changes is told: this is for an API server that was away. */
const takeOverPolicy: BackoffPolicy = { initialMs: 500, maxMs: 60_000, factor: 2, resetAfterMs: 600_000 };

export function createWorkerVolumes(deps: {
  readonly volumes: PodVolumes;
  readonly clock: Clock;
  readonly logger: Logger;
}): WorkerVolumes {
  const { volumes, clock, logger } = deps;
  let mounted: MountedVolumes | undefined;
  return {
    async mount(pod, signal, onGathered) {
      mounted ??= await volumes.setUp(pod, signal, onGathered);
      return mounted;
    },
    async takeOver(pod, signal) {
      const onFailure = (error: unknown) =>
        logger.debug("volumes are not up to date", { pod: pod().metadata.name, error });
      const takeOver = () => volumes.takeOver(pod(), signal);
      await retry(takeOver, { policy: takeOverPolicy, clock, signal, onFailure }).catch(() => {});
    },
    follow(before, next, signal) {
      if (describesItself(before) === describesItself(next)) return;
      volumes
        .refresh(next, signal)
        .catch((error: unknown) => logger.debug("volumes not refreshed", { error }));
    },
  };
}

/** What a downward API volume shows of a pod and can change. */
function describesItself({ metadata }: Pod): string {
  return JSON.stringify([metadata.labels, metadata.annotations]);
}
