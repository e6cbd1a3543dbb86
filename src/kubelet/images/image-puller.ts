// Clauses: 3542-10, 3542-12, 3815-1, 3815-2
import type { Features } from "../../api/meta/feature-gates.ts";
import { defaultPullPolicy } from "../../api/pod/defaults/container.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import { criErrorText } from "../../cri/error-text.ts";
import { ImageSpec } from "../../cri/generated/cri.ts";
import type { Clock } from "../../lib/clock.ts";
import { formatGoDuration } from "../../lib/go-duration.ts";
import { parseImageName } from "../../lib/image/image-name.ts";
import type { ContainerPull } from "../../lib/image/pull-progress.ts";
import { createLimiter } from "../../lib/limiter.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Metrics } from "../../lib/metrics/metrics.ts";
import { createContentProgress } from "../../node-agent/containerd/content-progress.ts";
import { createPullEventRateLimit } from "../../node-agent/publish/pull-event-rate-limit.ts";
import { createPullMetrics } from "../../node-agent/publish/pull-metrics.ts";
import { createPullTracker } from "../../node-agent/publish/pull-tracker.ts";
import type { KubeletConfiguration } from "../config/kubelet-configuration.ts";
import { containerFieldPath } from "../model/cri-labels.ts";
import { quoteGo } from "../model/downward-api.ts";
import { StartError } from "../model/start-error.ts";
import type { PullProgressSupport } from "../node/node-conditions.ts";
import { findPullCredentials, type SecretGetter } from "./pull-credentials.ts";
import { createRuntimePull } from "./runtime-pull.ts";
import {
  createPullBackoff,
  explainPullFailure,
  type ImageRequest,
  type Pull,
  type Pulled,
  pullAndTrack,
} from "./tracked-pull.ts";

/** Ensures that the images of containers are present on the node. */
export interface ImagePuller {
  /**
   * Returns the runtime's reference of the image. Pulls it if the pull policy requires it, and records events. Throws a
   * StartError whose event is already recorded: `InvalidImageName`, `ErrImageNeverPull`, `ErrImagePull`,
   * `ImagePullBackOff` (without a pull, during the back-off), `ImageInspectError`, `RegistryUnavailable`,
   * `SignatureValidationFailed`. If the signal aborts, it throws the signal's reason without an event or back-off.
   */
  ensureImage(request: ImageRequest): Promise<string>;
  /** Running pulls of a pod. */
  progress(podUid: string): readonly ContainerPull[];
  /** Yields the running pulls of a pod, then again after each change, until the signal aborts. */
  followProgress(podUid: string, signal: AbortSignal): AsyncIterable<readonly ContainerPull[]>;
  /** Whether the runtime reports the progress of pulls, as far as known. */
  progressSupport(): PullProgressSupport;
  /** Removes the back-off of a deleted pod. */
  forget(podUid: string): void;
}

export interface ImagePullerOptions {
  readonly cri: Pick<CriClient, "images" | "contentStore">;
  /** Reads a Secret. Undefined if it does not exist. */
  readonly getSecret: SecretGetter;
  readonly recorder: EventRecorder;
  /** Determines when in each period the node records progress events, so that nodes spread their writes. */
  readonly nodeName: string;
  /** Current duration of an event write. Slow writes reduce the rate of progress events. */
  readonly eventWriteMs: () => number;
  readonly config: Pick<
    KubeletConfiguration,
    "serializeImagePulls" | "maxParallelImagePulls" | "imagePullProgress" | "noProgressTimeoutSeconds"
  >;
  readonly features: Pick<Features, "ImagePullProgress">;
  readonly metrics: Metrics;
  /** Whether the runtime is containerd, whose content store shows the progress of pulls. */
  readonly isContainerd?: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createImagePuller(options: ImagePullerOptions): ImagePuller {
  const { cri, recorder, config, clock, logger, metrics } = options;
  const every = config.imagePullProgress;
  const store = options.isContainerd ? cri.contentStore : undefined;
  const runtimePull = createRuntimePull({
    cri,
    clock,
    logger,
    ...(store && { content: createContentProgress({ store, clock, logger }) }),
    ...(options.features.ImagePullProgress && {
      withProgress: { every, noProgressTimeoutSeconds: config.noProgressTimeoutSeconds },
    }),
  });
  const limit = createLimiter(
    config.serializeImagePulls ? 1 : (config.maxParallelImagePulls ?? Number.POSITIVE_INFINITY),
  );
  const backoff = createPullBackoff();
  const tracker = createPullTracker();
  const tracking = {
    cri,
    clock,
    tracker,
    every,
    allowEvent: createPullEventRateLimit(options),
    runtimePull: runtimePull.pull,
    metrics: createPullMetrics({ metrics, clock }),
  };

  async function ensureImage(request: ImageRequest): Promise<string> {
    const { pod, container, runtimeHandler, signal } = request;
    const fieldPath = containerFieldPath(pod, container.name);
    const recordEvent: Pull["recordEvent"] = (type, reason, message) =>
      recorder.record(pod, { type, reason, message, fieldPath });
    const image = container.image ?? "";
    try {
      const { annotations = {} } = pod.metadata;
      const spec = ImageSpec.fromPartial({
        image: pullName(image, recordEvent),
        annotations,
        runtimeHandler,
      });
      const pull: Pull = { ...request, image, spec, recordEvent };
      return (await findPresent(pull)) ?? (await pullUnlessBackingOff(pull));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof StartError) recordEvent("Warning", "Failed", `Error: ${error.reason}`);
      throw error;
    }
  }

  /** Returns the image if it is present. Undefined if it must be pulled. */
  async function findPresent({
    container,
    image,
    spec,
    recordEvent,
    signal,
  }: Pull): Promise<string | undefined> {
    const policy = container.imagePullPolicy || defaultPullPolicy(image);
    if (policy === "Always") return undefined;
    let id: string | undefined;
    try {
      id = (await cri.images.imageStatus({ image: spec, verbose: false }, { signal })).image?.id;
    } catch (error) {
      signal.throwIfAborted();
      const message = `Failed to inspect image ${quoteGo(image)}: ${criErrorText(error)}`;
      recordEvent("Warning", "InspectFailed", message);
      throw startError("ImageInspectError", message, error);
    }
    if (id) {
      recordEvent("Normal", "Pulled", `Container image ${quoteGo(image)} already present on machine`);
      return id;
    }
    if (policy !== "Never") return undefined;
    const message = `Container image ${quoteGo(image)} is not present with pull policy of Never`;
    recordEvent("Warning", "ErrImageNeverPull", message);
    throw startError("ErrImageNeverPull", message);
  }

  async function pullUnlessBackingOff(pull: Pull): Promise<string> {
    const { pod, image, recordEvent } = pull;
    const startedAt = clock.now();
    const lastError = backoff.waiting(pod.metadata.uid ?? "", image, startedAt);
    if (lastError !== undefined) {
      const message = `Back-off pulling image ${quoteGo(image)}`;
      recordEvent("Normal", "BackOff", message);
      throw startError("ImagePullBackOff", `${message}: ${lastError}`);
    }
    recordEvent("Normal", "Pulling", `Pulling image ${quoteGo(image)}`);
    const pulled = await pullWithLimit(pull, startedAt);
    const totalMs = clock.now() - startedAt;
    const times = `${formatGoDuration(pulled.tookMs)} (${formatGoDuration(totalMs)} including waiting)`;
    const size = `Image size: ${pulled.sizeBytes} bytes.`;
    recordEvent("Normal", "Pulled", `Successfully pulled image ${quoteGo(image)} in ${times}. ${size}`);
    return pulled.imageRef;
  }

  async function pullWithLimit(pull: Pull, startedAt: number): Promise<Pulled> {
    const { pod, image, recordEvent, signal } = pull;
    let missingSecrets: readonly string[] = [];
    try {
      const found = await findPullCredentials(options, pull);
      missingSecrets = found.missingSecrets;
      return await limit(() => pullAndTrack(tracking, { ...pull, logins: found.logins }), signal);
    } catch (error) {
      signal.throwIfAborted();
      const now = clock.now();
      const text = criErrorText(error);
      recordEvent("Warning", "Failed", `Failed to pull image ${quoteGo(image)}: ${text}`);
      const { reason, message } = explainPullFailure(image, text);
      backoff.failed(pod.metadata.uid ?? "", image, { startedAt, now, error: `${reason}: ${message}` });
      if (missingSecrets.length > 0 && reason === "ErrImagePull") recordMissingSecrets(pod, missingSecrets);
      throw startError(reason, message, error);
    }
  }

  function recordMissingSecrets(pod: ImageRequest["pod"], names: readonly string[]): void {
    const message = `Unable to retrieve some image pull secrets (${names.join(", ")}); attempting to pull the image may not succeed.`;
    recorder.record(pod, { type: "Warning", reason: "FailedToRetrieveImagePullSecret", message });
  }

  return {
    ensureImage,
    progress: tracker.progress,
    followProgress: tracker.follow,
    progressSupport: runtimePull.support,
    forget: backoff.forget,
  };
}

function pullName(image: string, recordEvent: Pull["recordEvent"]): string {
  try {
    return applyDefaultTag(image);
  } catch (error) {
    const message = `Failed to apply default image tag ${quoteGo(image)}: ${criErrorText(error)}`;
    recordEvent("Warning", "InspectFailed", message);
    throw startError("InvalidImageName", message, error);
  }
}

/** Creates the error of a failure whose event is already recorded. */
function startError(reason: string, message: string, cause?: unknown): StartError {
  return new StartError(reason, message, { cause, recorded: true });
}

/**
 * Appends `:latest` to an image name that has neither tag nor digest. The registry is not added, because the runtime
 * resolves short names. Throws an Error with the text of KEP-3815, which is upstream's text at that time.
 */
export function applyDefaultTag(image: string): string {
  const name = parseImageName(image);
  if ("problem" in name) {
    throw new Error(`couldn't parse image reference ${quoteGo(image)}: ${name.problem}`);
  }
  const { tag, digest } = name;
  return digest === undefined && !image.endsWith(`:${tag}`) ? `${image}:${tag}` : image;
}
