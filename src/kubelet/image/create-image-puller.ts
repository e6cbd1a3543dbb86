import { defaultPullPolicy } from "../../api/defaults/container.ts";
import type { Features } from "../../api/feature-gates.ts";
import type { EventRecorder } from "../../client/event-recorder.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import { criErrorText } from "../../cri/error-text.ts";
import { ImageSpec } from "../../cri/generated/cri.ts";
import type { Clock } from "../../lib/clock.ts";
import { formatGoDuration } from "../../lib/go-duration.ts";
import { createLimiter } from "../../lib/limiter.ts";
import type { Logger } from "../../lib/logger.ts";
import type { KubeletConfiguration } from "../configuration/kubelet-configuration.ts";
import { containerFieldPath } from "../container-field-path.ts";
import { quoteGo } from "../quote-go.ts";
import { StartError } from "../start-error.ts";
import { applyDefaultTag } from "./apply-default-tag.ts";
import type { ImagePuller, ImageRequest } from "./image-puller.ts";
import { createProgressBoard } from "./progress-board.ts";
import { createProgressPace } from "./progress-pace.ts";
import { createPullBackoff } from "./pull-backoff.ts";
import { explainPullFailure } from "./pull-failure.ts";
import { findPullLogins, type SecretGetter } from "./pull-logins.ts";
import { createRuntimePull } from "./runtime-pull.ts";
import { type Pull, type Pulled, trackedPull } from "./tracked-pull.ts";

export interface ImagePullerOptions {
  readonly cri: Pick<CriClient, "images">;
  /** Undefined when there is no such secret. */
  readonly getSecret: SecretGetter;
  readonly recorder: EventRecorder;
  /** Its name sets its progress events apart from those of other nodes. */
  readonly nodeName: string;
  /** How long an event takes to be written at the moment: progress is told less often when they take long. */
  readonly eventWriteMs: () => number;
  readonly config: Pick<
    KubeletConfiguration,
    "serializeImagePulls" | "maxParallelImagePulls" | "imagePullProgress" | "noProgressTimeoutSeconds"
  >;
  readonly features: Pick<Features, "ImagePullProgress">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createImagePuller(options: ImagePullerOptions): ImagePuller {
  const { cri, recorder, config, clock } = options;
  const every = config.imagePullProgress;
  const runtimePull = createRuntimePull({
    ...options,
    ...(options.features.ImagePullProgress && {
      withProgress: { every, noProgressTimeoutSeconds: config.noProgressTimeoutSeconds },
    }),
  });
  const limit = createLimiter(
    config.serializeImagePulls ? 1 : (config.maxParallelImagePulls ?? Number.POSITIVE_INFINITY),
  );
  const backoff = createPullBackoff();
  const board = createProgressBoard();
  const tracking = {
    cri,
    clock,
    board,
    every,
    turn: createProgressPace(options),
    runtimePull,
  };

  async function ensureImage(request: ImageRequest): Promise<string> {
    const { pod, container, runtimeHandler, signal } = request;
    const fieldPath = containerFieldPath(pod, container.name);
    const say: Pull["say"] = (type, reason, message) =>
      recorder.record(pod, { type, reason, message, fieldPath });
    const image = container.image ?? "";
    try {
      const { annotations = {} } = pod.metadata;
      const spec = ImageSpec.fromPartial({ image: nameFor(image, say), annotations, runtimeHandler });
      const pull: Pull = { ...request, image, spec, say };
      return (await findPresent(pull)) ?? (await pullUnlessBackingOff(pull));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof StartError) say("Warning", "Failed", `Error: ${error.reason}`);
      throw error;
    }
  }

  /** Undefined when it is to be pulled. */
  async function findPresent({ container, image, spec, say, signal }: Pull): Promise<string | undefined> {
    const policy = container.imagePullPolicy || defaultPullPolicy(image);
    if (policy === "Always") return undefined;
    let id: string | undefined;
    try {
      id = (await cri.images.imageStatus({ image: spec, verbose: false }, { signal })).image?.id;
    } catch (error) {
      signal.throwIfAborted();
      const message = `Failed to inspect image ${quoteGo(image)}: ${criErrorText(error)}`;
      say("Warning", "InspectFailed", message);
      throw startError("ImageInspectError", message, error);
    }
    if (id) {
      say("Normal", "Pulled", `Container image ${quoteGo(image)} already present on machine`);
      return id;
    }
    if (policy !== "Never") return undefined;
    const message = `Container image ${quoteGo(image)} is not present with pull policy of Never`;
    say("Warning", "ErrImageNeverPull", message);
    throw startError("ErrImageNeverPull", message);
  }

  async function pullUnlessBackingOff(pull: Pull): Promise<string> {
    const { pod, image, say } = pull;
    const startedAt = clock.now();
    const lastError = backoff.waiting(pod.metadata.uid ?? "", image, startedAt);
    if (lastError !== undefined) {
      const message = `Back-off pulling image ${quoteGo(image)}`;
      say("Normal", "BackOff", message);
      throw startError("ImagePullBackOff", `${message}: ${lastError}`);
    }
    say("Normal", "Pulling", `Pulling image ${quoteGo(image)}`);
    const pulled = await pullInTurn(pull, startedAt);
    const totalMs = clock.now() - startedAt;
    const times = `${formatGoDuration(pulled.tookMs)} (${formatGoDuration(totalMs)} including waiting)`;
    const size = `Image size: ${pulled.sizeBytes} bytes.`;
    say("Normal", "Pulled", `Successfully pulled image ${quoteGo(image)} in ${times}. ${size}`);
    return pulled.imageRef;
  }

  async function pullInTurn(pull: Pull, startedAt: number): Promise<Pulled> {
    const { pod, image, say, signal } = pull;
    let missing: readonly string[] = [];
    try {
      const found = await findPullLogins(options, pull);
      missing = found.missing;
      return await limit(() => trackedPull(tracking, { ...pull, logins: found.logins }), signal);
    } catch (error) {
      signal.throwIfAborted();
      const now = clock.now();
      const text = criErrorText(error);
      say("Warning", "Failed", `Failed to pull image ${quoteGo(image)}: ${text}`);
      const { reason, message } = explainPullFailure(image, text);
      backoff.failed(pod.metadata.uid ?? "", image, { startedAt, now, error: `${reason}: ${message}` });
      if (missing.length > 0 && reason === "ErrImagePull") recordMissingSecrets(pod, missing);
      throw startError(reason, message, error);
    }
  }

  function recordMissingSecrets(pod: ImageRequest["pod"], names: readonly string[]): void {
    const message = `Unable to retrieve some image pull secrets (${names.join(", ")}); attempting to pull the image may not succeed.`;
    recorder.record(pod, { type: "Warning", reason: "FailedToRetrieveImagePullSecret", message });
  }

  return { ensureImage, progress: board.progress, followProgress: board.follow, forget: backoff.forget };
}

function nameFor(image: string, say: Pull["say"]): string {
  try {
    return applyDefaultTag(image);
  } catch (error) {
    const message = `Failed to apply default image tag ${quoteGo(image)}: ${criErrorText(error)}`;
    say("Warning", "InspectFailed", message);
    throw startError("InvalidImageName", message, error);
  }
}

/** Every failure of the puller is on the pod by the time it is thrown. */
function startError(reason: string, message: string, cause?: unknown): StartError {
  return new StartError(reason, message, { cause, recorded: true });
}
