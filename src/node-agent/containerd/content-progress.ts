// Clauses: 3542-14
import { status } from "@grpc/grpc-js";
import type { ContentStore } from "../../cri/cri-client.ts";
import type { Clock } from "../../lib/clock.ts";
import { isGrpcError } from "../../lib/grpc-call.ts";
import type { Logger } from "../../lib/logger.ts";
import { createContentSampler } from "./content-sampler.ts";
import { initialTracker, type TrackedPull, trackPulls, type WantedPull } from "./track-pulls.ts";

/** Progress of pulls by containerd, from its content store. */
export interface ContentProgress {
  /** Follows a pull until it is stopped. */
  follow(pull: Omit<WantedPull, "id">, follower: PullFollower): FollowedPull;
}

interface PullFollower {
  /** Called about once a second, with more than ten pulls less often, while containerd responds. */
  onSample(sample: TrackedPull): void;
  /** Called if the socket does not serve containerd's content store. */
  onUnavailable?(): void;
}

interface FollowedPull {
  stop(): Promise<void>;
}

interface Followed {
  readonly pull: WantedPull;
  readonly follower: PullFollower;
}

const intervalMs = 1_000;
/** More pulls are sampled less often: twenty every two seconds. */
const intervalPerPullMs = 100;

/** Samples the content store while at least one pull is followed. */
export function createContentProgress(deps: {
  readonly store: ContentStore;
  readonly clock: Clock;
  readonly logger: Logger;
}): ContentProgress {
  const { clock, logger } = deps;
  const sample = createContentSampler(deps);
  const followed = new Map<string, Followed>();
  let running: { readonly stop: AbortController; readonly done: Promise<void> } | undefined;
  let lastId = 0;

  async function run(signal: AbortSignal): Promise<void> {
    let state = initialTracker;
    let failing = false;
    while (!signal.aborted) {
      const wanted = [...followed.values()].map(({ pull }) => ({
        ...pull,
        isResolving: (state.pulls.get(pull.id)?.state ?? "resolving") === "resolving",
      }));
      try {
        const snapshot = await sample(wanted, signal);
        state = trackPulls(state, { snapshot, wanted, now: clock.now() });
        failing = false;
        publish(state.pulls);
      } catch (error) {
        if (signal.aborted) return;
        if (!failing) logger.warn("failed to read containerd's content store, retrying", { error });
        failing = true;
        if (isGrpcError(error, status.UNIMPLEMENTED))
          for (const { follower } of [...followed.values()]) follower.onUnavailable?.();
      }
      await clock.sleep(Math.max(intervalMs, intervalPerPullMs * followed.size), signal).catch(() => {});
    }
  }

  function publish(pulls: ReadonlyMap<string, TrackedPull>): void {
    for (const [id, { follower }] of [...followed]) {
      const pull = pulls.get(id);
      if (pull) follower.onSample(pull);
    }
  }

  return {
    follow(pull, follower) {
      const id = String(++lastId);
      followed.set(id, { pull: { ...pull, id }, follower });
      if (!running) {
        const stop = new AbortController();
        running = { stop, done: run(stop.signal) };
      }
      return {
        async stop() {
          followed.delete(id);
          if (followed.size > 0) return;
          const ending = running;
          running = undefined;
          ending?.stop.abort(new Error("no pull is followed any more"));
          await ending?.done;
        },
      };
    },
  };
}
