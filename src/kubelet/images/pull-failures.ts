// Clauses: 3542-10
import { type BackoffPolicy, type BackoffState, backOff, backoffRemainingMs } from "../../lib/backoff.ts";

/** Failed pull as shown in the pod's status. */
export interface PullFailure {
  readonly reason: "ErrImagePull" | "RegistryUnavailable" | "SignatureValidationFailed";
  readonly message: string;
}

/** Prefixes of runtime errors and upstream's explanations. */
const known = [
  { reason: "RegistryUnavailable", because: "the registry is unavailable" },
  { reason: "SignatureValidationFailed", because: "the signature validation failed" },
] as const;

export function explainPullFailure(image: string, error: string): PullFailure {
  for (const { reason, because } of known) {
    if (error.startsWith(reason)) {
      return {
        reason,
        message: `image pull failed for ${image} because ${because}${error.slice(reason.length)}`,
      };
    }
  }
  return { reason: "ErrImagePull", message: error };
}

/** Joins the errors of several attempts: each text once, in brackets if there is more than one. */
export function joinErrors(errors: readonly string[]): string {
  const distinct = [...new Set(errors)];
  return distinct.length === 1 ? (distinct[0] ?? "") : `[${distinct.join(", ")}]`;
}

/** Upstream's policy: 10 s to 5 min, reset after 10 min without a failure. */
const policy: BackoffPolicy = { initialMs: 10_000, maxMs: 300_000, factor: 2, resetAfterMs: 600_000 };

interface Failure {
  readonly state: BackoffState;
  /** Error of the last pull: `ErrImagePull: …`. */
  readonly error: string;
}

/** Back-off of pulls by pod and image. As upstream, a successful pull does not reset it. */
export interface PullBackoff {
  /** Returns the error of the last pull during its back-off, otherwise undefined. */
  waiting(podUid: string, image: string, now: number): string | undefined;
  failed(podUid: string, image: string, pull: { startedAt: number; now: number; error: string }): void;
  forget(podUid: string): void;
}

export function createPullBackoff(): PullBackoff {
  const pods = new Map<string, Map<string, Failure>>();

  function removeExpired(now: number): void {
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
      removeExpired(now);
      const failures = pods.get(podUid) ?? new Map<string, Failure>();
      const before = failures.get(image)?.state;
      // Concurrent pulls of one image by two containers of a pod count as one failure.
      const sameFailure = before && startedAt < before.failedAt;
      failures.set(image, { state: sameFailure ? before : backOff(policy, before, now), error });
      pods.set(podUid, failures);
    },
    forget: (podUid) => void pods.delete(podUid),
  };
}
