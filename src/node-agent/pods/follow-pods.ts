// Clauses: 3542-14
import type { Pod } from "../../api/meta/objects.ts";
import type { Client } from "../../client/api/client.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { isStarting, type RunningPull, runningPulls } from "./running-pulls.ts";

export interface FollowPodsOptions {
  readonly client: Pick<Client, "list">;
  /** Pods of this node. */
  readonly pods: { list(): Iterable<Pod> };
  /** Name under which this process records events. */
  readonly component: string;
  /** Publishes a pull until the returned function is called. */
  readonly publish: (pod: Pod, pull: RunningPull) => () => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Starting pod whose events are read. */
interface FollowedPod {
  readonly pulls: Map<string, () => Promise<void>>;
  resourceVersion: string | undefined;
  readAtMs: number;
  intervalMs: number;
}

const tickMs = 1_000;
/** Interval between reads of a pod's events: after a change of the pod the minimum, then doubled each time. */
const minIntervalMs = 2_000;
/** Interval while an image is pulled. The end of a pull mostly changes the pod, too. */
const pullingIntervalMs = 10_000;
const maxIntervalMs = 30_000;
/** Limits the load of a node on the API server. */
const maxReadsPerTick = 10;

/** Publishes the pulls of starting pods until the signal aborts. */
export async function followPods(options: FollowPodsOptions, signal: AbortSignal): Promise<void> {
  const { pods, publish, clock, logger } = options;
  const followed = new Map<string, FollowedPod>();

  function findStarting(): ReadonlyMap<string, Pod> {
    const starting = [...pods.list()].filter(isStarting);
    return new Map(starting.map((pod) => [pod.metadata.uid ?? "", pod]));
  }

  async function stopPulls({ pulls }: FollowedPod): Promise<void> {
    const stops = [...pulls.values()];
    pulls.clear();
    await Promise.all(stops.map((stop) => stop()));
  }

  function updateFollowed(starting: ReadonlyMap<string, Pod>): void {
    for (const [uid, { metadata }] of starting) {
      const known = followed.get(uid);
      const { resourceVersion } = metadata;
      if (!known) {
        const readAtMs = Number.NEGATIVE_INFINITY;
        followed.set(uid, { pulls: new Map(), resourceVersion, readAtMs, intervalMs: minIntervalMs });
      } else if (known.resourceVersion !== resourceVersion) {
        known.resourceVersion = resourceVersion;
        known.intervalMs = minIntervalMs;
      }
    }
  }

  async function readEvents(pod: Pod, state: FollowedPod): Promise<void> {
    const { namespace = "", name = "", uid = "" } = pod.metadata;
    state.readAtMs = clock.now();
    const fieldSelector = `involvedObject.kind=Pod,involvedObject.name=${name},involvedObject.uid=${uid}`;
    const { items } = await options.client.list("events", { namespace, fieldSelector, signal });
    const running = new Map(runningPulls(items, options).map((pull) => [keyOf(pull), pull]));
    for (const [key, stop] of [...state.pulls]) {
      if (running.has(key)) continue;
      state.pulls.delete(key);
      await stop();
    }
    for (const [key, pull] of running) {
      if (!state.pulls.has(key)) state.pulls.set(key, publish(pod, pull));
    }
    state.intervalMs = running.size > 0 ? pullingIntervalMs : Math.min(maxIntervalMs, 2 * state.intervalMs);
  }

  async function tick(): Promise<void> {
    const starting = findStarting();
    updateFollowed(starting);
    for (const [uid, state] of [...followed]) {
      if (starting.has(uid)) continue;
      followed.delete(uid);
      await stopPulls(state);
    }
    const due = [...followed]
      .filter(([, { readAtMs, intervalMs }]) => clock.now() - readAtMs >= intervalMs)
      .sort(([, a], [, b]) => a.readAtMs - b.readAtMs)
      .slice(0, maxReadsPerTick);
    for (const [uid, state] of due) {
      const pod = starting.get(uid);
      if (pod) await readEvents(pod, state);
    }
  }

  try {
    while (!signal.aborted) {
      await tick().catch((error: unknown) => {
        if (!signal.aborted) logger.warn("failed to read the events of a pod, retrying", { error });
      });
      await clock.sleep(tickMs, signal).catch(() => {});
    }
  } finally {
    await Promise.all([...followed.values()].map(stopPulls));
  }
}

/** A pull that starts again is another pull. */
function keyOf({ fieldPath, image, startedMs }: RunningPull): string {
  return `${fieldPath} ${image} ${startedMs}`;
}
