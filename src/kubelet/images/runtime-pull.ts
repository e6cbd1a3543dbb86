// Clauses: 3542-7, 3542-12, 3542-14
import { status } from "@grpc/grpc-js";
import type { CriClient } from "../../cri/cri-client.ts";
import {
  PullImageWithProgressRequest_GranularityType as GranularityType,
  type PullImageRequest,
} from "../../cri/generated/cri.ts";
import { parseProgress, type ReportGranularity } from "../../cri/progress-message.ts";
import type { Clock } from "../../lib/clock.ts";
import { isGrpcError } from "../../lib/grpc-call.ts";
import type { PullProgress } from "../../lib/image/pull-progress.ts";
import type { Logger } from "../../lib/logger.ts";
import type { ContentProgress } from "../../node-agent/containerd/content-progress.ts";
import { pullWithContentProgress } from "../../node-agent/containerd/content-pull.ts";
import { timeoutOnContainerd } from "../../node-agent/containerd/track-pulls.ts";
import { type PullProgressSupport, progressUnavailable } from "../node/node-conditions.ts";

export interface RuntimePullOptions {
  readonly cri: { readonly images: Pick<CriClient["images"], "pullImage" | "pullImageWithProgress"> };
  readonly logger: Logger;
  readonly clock: Clock;
  /** Progress from the content store. Set if the runtime is containerd. */
  readonly content?: ContentProgress;
  /** Undefined if the feature gate is disabled: plain PullImage without the timeout, which runtimes may not support. */
  readonly withProgress?: { readonly every: ReportGranularity; readonly noProgressTimeoutSeconds: number };
}

interface RuntimePullCall {
  readonly request: Omit<PullImageRequest, "noProgressTimeout">;
  readonly signal: AbortSignal;
  onReport(report: PullProgress): void;
  /** Called for the first pull of which the runtime does not implement PullImageWithProgress. */
  onUnavailable(): void;
  /** Called when the kubelet has cancelled a pull without progress. */
  onStall(message: string): void;
}

export interface RuntimePull {
  /** Pulls an image and returns its reference. */
  pull(call: RuntimePullCall): Promise<string>;
  support(): PullProgressSupport;
}

/** Retries of a pull without progress on containerd. Then the pull fails, and the back-off of the pod begins. */
const maxRetries = 3;
/** Pulls have no deadline. Runtimes enforce noProgressTimeout, and the caller can abort. */
const noDeadline = { timeoutMs: Number.POSITIVE_INFINITY };

/**
 * If the runtime does not implement PullImageWithProgress, this and all later pulls use PullImage. With containerd they do
 * from the first pull on, and progress and the no-progress timeout come from its content store.
 */
export function createRuntimePull(options: RuntimePullOptions): RuntimePull {
  const { cri, logger, withProgress, content, clock } = options;
  let support: PullProgressSupport = withProgress ? "unknown" : "disabled";

  async function pullPlainly({ request, signal }: RuntimePullCall): Promise<string> {
    const plain = { ...request, noProgressTimeout: timeoutOf(withProgress) };
    return (await cri.images.pullImage(plain, { signal, ...noDeadline })).imageRef;
  }

  async function pull(call: RuntimePullCall): Promise<string> {
    if (!withProgress || support === "unavailable") return pullPlainly(call);
    if (content) return pullFromContainerd(call, { content, withProgress });
    try {
      const imageRef = await pullWithProgress(cri, { ...call, withProgress });
      support = "available";
      return imageRef;
    } catch (error) {
      if (!isGrpcError(error, status.UNIMPLEMENTED)) throw error;
      noteUnavailable(call);
      return pullPlainly(call);
    }
  }

  async function pullFromContainerd(
    call: RuntimePullCall,
    { content, withProgress }: { readonly content: ContentProgress; readonly withProgress: Progress },
  ): Promise<string> {
    const { request, signal, onStall } = call;
    const timeoutMs = timeoutOnContainerd(withProgress.noProgressTimeoutSeconds);
    const imageRef = await pullWithContentProgress(
      { content, clock, timeoutMs, maxRetries },
      {
        image: request.image?.image ?? "",
        signal,
        pull: (limited) => pullPlainly({ ...call, signal: limited }),
        onReport(report) {
          if (withProgress.every.kind !== "none") call.onReport(report);
        },
        onStall(message) {
          logger.warn("cancelled a pull without progress", { message });
          onStall(message);
        },
        onUnavailable: () => noteUnavailable(call),
      },
    );
    if (support === "unknown") support = "available";
    return imageRef;
  }

  /** Concurrent pulls fail at the same time; it is reported once. */
  function noteUnavailable({ onUnavailable }: RuntimePullCall): void {
    if (support === "unavailable") return;
    support = "unavailable";
    logger.warn(progressUnavailable, { gate: "ImagePullProgress" });
    onUnavailable();
  }

  return { pull, support: () => support };
}

type Progress = NonNullable<RuntimePullOptions["withProgress"]>;

async function pullWithProgress(
  cri: RuntimePullOptions["cri"],
  { request, signal, onReport, withProgress }: RuntimePullCall & { withProgress: Progress },
): Promise<string> {
  const noProgressTimeout = timeoutOf(withProgress);
  const reports = cri.images.pullImageWithProgress(
    {
      request: { ...request, noProgressTimeout },
      noProgressTimeout,
      ...granularityFor(withProgress),
      verbosity: true,
    },
    { signal },
  );
  let imageRef = "";
  for await (const response of reports) {
    imageRef = response.imageRef;
    onReport(parseProgress(response));
  }
  if (!imageRef) throw new Error("the runtime ended the pull without an image reference");
  return imageRef;
}

/** Requests a report each second for `/imagePullProgress`. Events use only the reports that are due. */
function granularityFor({ every }: Progress) {
  return every.kind === "none"
    ? { granularityType: GranularityType.NONE, interval: undefined }
    : { granularityType: GranularityType.TIME, interval: { value: 1n } };
}

function timeoutOf(progress: Progress | undefined) {
  return progress && { value: progress.noProgressTimeoutSeconds };
}
