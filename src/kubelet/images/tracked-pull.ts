// Clauses: 3542-6
import type { Container, Pod } from "../../api/meta/objects.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import { criErrorText } from "../../cri/error-text.ts";
import { AuthConfig, type ImageSpec, PodSandboxConfig } from "../../cri/generated/cri.ts";
import type { ReportGranularity } from "../../cri/progress-message.ts";
import type { Clock } from "../../lib/clock.ts";
import type { PullProgress } from "../../lib/image/pull-progress.ts";
import { stallReason } from "../../node-agent/containerd/content-pull.ts";
import { progressMessage, startProgressEvents } from "../../node-agent/publish/progress-events.ts";
import type { PullMetrics } from "../../node-agent/publish/pull-metrics.ts";
import type { PullTracker } from "../../node-agent/publish/pull-tracker.ts";
import { progressUnavailable, progressUnavailableReason } from "../node/node-conditions.ts";
import type { RegistryLogin } from "./pull-credentials.ts";
import { joinErrors } from "./pull-failures.ts";
import type { RuntimePull } from "./runtime-pull.ts";

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

export interface TrackedPullOptions {
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
