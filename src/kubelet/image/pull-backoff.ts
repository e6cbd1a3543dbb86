import { type BackoffPolicy, type BackoffState, backOff, backoffRemainingMs } from "../../lib/backoff.ts";

/** Upstream's: from 10 s to 5 min, and forgotten after twice that without a failure. */
const policy: BackoffPolicy = { initialMs: 10_000, maxMs: 300_000, factor: 2, resetAfterMs: 600_000 };

interface Failure {
  readonly state: BackoffState;
  /** `ErrImagePull: …` of the last pull. */
  readonly error: string;
}

/** Which pods have to wait with which images. A pull that succeeds changes nothing, as upstream. */
export interface PullBackoff {
  /** What the last pull failed with, as long as the next one has to wait. */
  waiting(podUid: string, image: string, now: number): string | undefined;
  failed(podUid: string, image: string, pull: { startedAt: number; now: number; error: string }): void;
  forget(podUid: string): void;
}

export function createPullBackoff(): PullBackoff {
  const pods = new Map<string, Map<string, Failure>>();

  function forgetOld(now: number): void {
    for (const [podUid, failures] of pods) {
      for (const [image, { state }] of failures) {
        if (now - state.failedAt > policy.resetAfterMs) failures.delete(image);
      }
      if (failures.size === 0) pods.delete(podUid);
    }
  }

  return {
    waiting(podUid, image, now) {
      const failure = pods.get(podUid)?.get(image);
      return failure && backoffRemainingMs(failure.state, now) > 0 ? failure.error : undefined;
    },
    failed(podUid, image, { startedAt, now, error }) {
      forgetOld(now);
      const failures = pods.get(podUid) ?? new Map<string, Failure>();
      const before = failures.get(image)?.state;
      // Two containers of a pod that pull one image at the same time fail once, not twice.
      const sameFailure = before && startedAt < before.failedAt;
      failures.set(image, { state: sameFailure ? before : backOff(policy, before, now), error });
      pods.set(podUid, failures);
    },
    forget: (podUid) => void pods.delete(podUid),
  };
}
