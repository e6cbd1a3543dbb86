// Clauses: 3542-6, 3542-10
import type { Container, Pod } from "../../api/meta/objects.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import { criErrorText } from "../../cri/error-text.ts";
import { AuthConfig, type ImageSpec, PodSandboxConfig } from "../../cri/generated/cri.ts";
import type { ReportGranularity } from "../../cri/progress-message.ts";
import { type BackoffPolicy, type BackoffState, backOff, backoffRemainingMs } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { PullProgress } from "../../lib/image/pull-progress.ts";
import { stallReason } from "../../node-agent/containerd/content-pull.ts";
import { progressMessage, startProgressEvents } from "../../node-agent/publish/progress-events.ts";
import type { PullMetrics } from "../../node-agent/publish/pull-metrics.ts";
import type { PullTracker } from "../../node-agent/publish/pull-tracker.ts";
import { progressUnavailable, progressUnavailableReason } from "../node/node-conditions.ts";
import type { RegistryLogin } from "./pull-credentials.ts";
import type { RuntimePull } from "./runtime-pull.ts";

/** Failed pull as shown in the pod's status. */
interface PullFailure {
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
interface PullBackoff {
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

/** Request for the image of a container, which may be an init container. */
export interface ImageRequest {
  readonly pod: Pod;
  readonly container: Container;
  readonly runtimeHandler: string;
  readonly signal: AbortSignal;
}

export interface Pull extends ImageRequest {
  /** Image name of the pod spec. */
  readonly image: string;
  /** Image in CRI requests. */
  readonly spec: ImageSpec;
  /** Records an event for the container. */
  readonly recordEvent: (type: "Normal" | "Warning", reason: string, message: string) => void;
}

export interface Pulled {
  readonly imageRef: string;
  /** 0 if the runtime does not report it. */
  readonly sizeBytes: bigint;
  readonly tookMs: number;
}

interface TrackedPullOptions {
  readonly cri: Pick<CriClient, "images">;
  readonly clock: Clock;
  readonly tracker: PullTracker;
  /** Interval of progress events. */
  readonly every: ReportGranularity;
  /** Resolves when the node may record a progress event. */
  readonly allowEvent: (signal: AbortSignal) => Promise<void>;
  readonly runtimePull: RuntimePull["pull"];
  readonly metrics: PullMetrics;
}

/** Pulls an image, and reports its progress to the tracker and in events of the pod. */
export async function pullAndTrack(
  options: TrackedPullOptions,
  { logins, ...pull }: Pull & { logins: readonly RegistryLogin[] },
): Promise<Pulled> {
  const { clock, tracker } = options;
  const { pod, container, image } = pull;
  const startedAt = clock.now();
  const tracked = tracker.start(pod.metadata.uid ?? "", {
    image,
    container: container.name,
    startedAt: new Date(startedAt).toISOString(),
    offset: 0,
    total: 0,
    layers: [],
  });
  const events = startProgressEvents({
    clock,
    every: options.every,
    allowEvent: options.allowEvent,
    record: (progress) => pull.recordEvent("Normal", "Pulling", progressMessage(image, progress)),
  });
  const metered = options.metrics.start(image);
  const onReport = (report: PullProgress) => {
    tracked.update(report);
    metered.onReport(report);
    events.onReport(report);
  };
  const onStall = (message: string) => {
    metered.onStall();
    pull.recordEvent("Warning", stallReason, message);
  };
  try {
    const imageRef = await tryLogins(options, { ...pull, logins, onReport, onStall });
    return { imageRef, sizeBytes: await sizeOf(options, pull), tookMs: clock.now() - startedAt };
  } finally {
    tracked.remove();
    metered.end();
    await events.end();
  }
}

/** Pulls with each login until one succeeds, or without credentials if there are none. */
async function tryLogins(
  { runtimePull }: TrackedPullOptions,
  attempt: Pull & {
    logins: readonly RegistryLogin[];
    onReport: (report: PullProgress) => void;
    onStall: (message: string) => void;
  },
): Promise<string> {
  const { pod, spec, logins, signal, onReport, onStall, recordEvent } = attempt;
  const { name = "", namespace = "", uid = "", annotations = {} } = pod.metadata;
  const sandboxConfig = PodSandboxConfig.fromPartial({ metadata: { name, namespace, uid }, annotations });
  const onUnavailable = () => recordEvent("Warning", progressUnavailableReason, progressUnavailable);
  const errors: unknown[] = [];
  for (const login of logins.length > 0 ? logins : [undefined]) {
    const auth = login && AuthConfig.fromPartial(login);
    try {
      const request = { image: spec, auth, sandboxConfig };
      return await runtimePull({ request, signal, onReport, onUnavailable, onStall });
    } catch (error) {
      signal.throwIfAborted();
      errors.push(error);
    }
  }
  throw new Error(joinErrors(errors.map(criErrorText)), { cause: errors[0] });
}

async function sizeOf({ cri }: TrackedPullOptions, { spec, signal }: Pull): Promise<bigint> {
  try {
    const { image } = await cri.images.imageStatus({ image: spec, verbose: false }, { signal });
    return image?.size ?? 0n;
  } catch {
    // The image is present; its size is used in an event only.
    return 0n;
  }
}
