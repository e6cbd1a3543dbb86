import { status } from "@grpc/grpc-js";
import type { CriClient } from "../../cri/cri-client.ts";
import {
  PullImageWithProgressRequest_GranularityType as GranularityType,
  type PullImageRequest,
  type PullImageWithProgressResponse,
} from "../../cri/generated/cri.ts";
import { isGrpcError } from "../../lib/grpc-call.ts";
import type { Logger } from "../../lib/logger.ts";
import type { ImagePullProgress } from "../configuration/image-pull-progress.ts";
import type { PullProgress } from "./image-puller.ts";

export type PullReport = Pick<PullProgress, "offset" | "total" | "layers">;

export interface RuntimePullOptions {
  readonly cri: { readonly images: Pick<CriClient["images"], "pullImage" | "pullImageWithProgress"> };
  readonly logger: Logger;
  /** Undefined where the gate is off: the plain call, with nothing that a runtime may not know. */
  readonly withProgress?: { readonly every: ImagePullProgress; readonly noProgressTimeoutSeconds: number };
}

export interface RuntimePullCall {
  readonly request: Omit<PullImageRequest, "noProgressTimeout">;
  readonly signal: AbortSignal;
  onReport(report: PullReport): void;
}

/** Pulls end when they end: runtimes have their own patience, and the caller a signal. */
const noDeadline = { timeoutMs: Number.POSITIVE_INFINITY };

/**
 * One pull by the runtime; the image's reference. A runtime that has no call with progress is asked the old way, which
 * is remembered as long as this client of it lives.
 */
export function createRuntimePull(options: RuntimePullOptions): (call: RuntimePullCall) => Promise<string> {
  const { cri, logger, withProgress } = options;
  let hasCall = withProgress !== undefined;

  async function pullPlainly({ request, signal }: RuntimePullCall): Promise<string> {
    const plain = { ...request, noProgressTimeout: timeoutOf(withProgress) };
    return (await cri.images.pullImage(plain, { signal, ...noDeadline })).imageRef;
  }

  return async (call) => {
    if (!withProgress || !hasCall) return pullPlainly(call);
    try {
      return await pullWithProgress(cri, { ...call, withProgress });
    } catch (error) {
      if (!isGrpcError(error, status.UNIMPLEMENTED)) throw error;
      // Pulls that ran at the same time find out at the same time: it is said once.
      if (hasCall) {
        logger.warn("the runtime has no PullImageWithProgress: images are pulled without progress", {
          gate: "ImagePullProgress",
        });
      }
      hasCall = false;
      return pullPlainly(call);
    }
  };
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
    onReport(readReport(response));
  }
  if (!imageRef) throw new Error("the runtime ended the pull without an image");
  return imageRef;
}

/**
 * Whoever asks the kubelet how far a pull is wants to know it now: reports each second, of which the pod's events show
 * only those that are due.
 */
function granularityFor({ every }: Progress) {
  return every.kind === "none"
    ? { granularityType: GranularityType.NONE, interval: undefined }
    : { granularityType: GranularityType.TIME, interval: { value: 1n } };
}

function timeoutOf(progress: Progress | undefined) {
  return progress && { value: progress.noProgressTimeoutSeconds };
}

function readReport({ offset, total, details }: PullImageWithProgressResponse): PullReport {
  return {
    offset: Number(offset?.value ?? 0),
    total: Number(total?.value ?? 0),
    layers: details.map((layer) => ({
      digest: layer.layer,
      offset: Number(layer.offset?.value ?? 0),
      total: Number(layer.total?.value ?? 0),
      stage: layer.stage,
    })),
  };
}
