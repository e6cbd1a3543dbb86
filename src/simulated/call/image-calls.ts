import {
  Image,
  type ImageServiceService,
  type PullImageRequest,
  type PullImageWithProgressRequest,
  type PullImageWithProgressResponse,
} from "../../cri/generated/cri.ts";
import { toNanos } from "../../cri/nanos.ts";
import { requestedGranularity } from "../../cri/report-meter.ts";
import type { ServiceCalls } from "../../cri/serve-call.ts";
import type { SimulatedCore } from "../core.ts";
import { invalidArgument } from "../failure.ts";
import type { SimulatedImage } from "../image/image-store.ts";
import { presentImage } from "../image/present-image.ts";
import { type PullReport, type PullRequest, pullImage } from "../image/pull-image.ts";
import { annotatedScripts } from "./annotated-scripts.ts";

export function imageCalls(core: SimulatedCore) {
  const { state, clock } = core;
  return {
    async listImages({ filter }) {
      const wanted = filter?.image?.image;
      if (!wanted) return { images: [...state.images.values()].map(imageMessage) };
      const found = presentImage(core, wanted);
      return { images: found ? [imageMessage(found)] : [] };
    },

    /** An image that is not there is an answer without an image, not an error. */
    async imageStatus({ image: spec }) {
      if (!spec?.image) throw invalidArgument("image.image is missing");
      const image = presentImage(core, spec.image);
      return { image: image && imageMessage(image), info: {} };
    },

    async pullImage(request, { signal }) {
      const pull: PullRequest = { ...parsePull(request), granularity: { kind: "none" }, signal };
      for await (const { image } of pullImage(core, pull)) if (image) return { imageRef: image.id };
      throw new Error("the pull ended without an image");
    },

    async *pullImageWithProgress(request, { signal }) {
      const pull = { ...parsePullWithProgress(request), signal };
      for await (const report of pullImage(core, pull))
        yield progressMessage(report, { reference: pull.reference, verbose: request.verbosity });
    },

    /** Removing what is not there succeeds. */
    async removeImage({ image: spec }) {
      if (!spec?.image) throw invalidArgument("image.image is missing");
      const image = presentImage(core, spec.image);
      if (image) state.images.delete(image.id);
      return {};
    },

    async imageFsInfo() {
      const images = [...state.images.values()];
      const usage = {
        timestamp: toNanos(clock.now()),
        fsId: { mountpoint: "/" },
        usedBytes: { value: BigInt(images.reduce((sum, image) => sum + image.sizeBytes, 0)) },
        inodesUsed: { value: BigInt(images.length) },
      };
      return { imageFilesystems: [usage], containerFilesystems: [usage] };
    },
  } satisfies ServiceCalls<ImageServiceService>;
}

function parsePull(request: PullImageRequest): Omit<PullRequest, "granularity" | "signal"> {
  const { image, auth, sandboxConfig: pod } = request;
  if (!image?.image) throw invalidArgument("image.image is missing");
  return {
    reference: image.image,
    auth,
    pod,
    annotated: pod && annotatedScripts(pod)?.pull,
    noProgressMs: 1_000 * (request.noProgressTimeout?.value ?? 0),
  };
}

function parsePullWithProgress(request: PullImageWithProgressRequest): Omit<PullRequest, "signal"> {
  if (!request.request) throw invalidArgument("request is missing");
  const pull = parsePull(request.request);
  const granularity = requestedGranularity(request);
  if (!granularity)
    throw invalidArgument(`granularity_type ${request.granularityType}: 0 is size, 1 time, 2 none`);
  const timeout = request.noProgressTimeout;
  return { ...pull, granularity, noProgressMs: timeout ? 1_000 * timeout.value : pull.noProgressMs };
}

function progressMessage(
  { offset, total, layers, image }: PullReport,
  { reference, verbose }: { reference: string; verbose: boolean },
): PullImageWithProgressResponse {
  return {
    // The id, as containerd answers: kubelets compare it with the id in ImageStatus.
    imageRef: image?.id ?? reference,
    offset: { value: BigInt(offset) },
    total: { value: BigInt(total) },
    details: (verbose ? layers : []).map((layer) => ({
      layer: layer.digest,
      offset: { value: BigInt(layer.offset) },
      total: { value: BigInt(layer.total) },
      stage: layer.stage,
    })),
  };
}

function imageMessage({ id, repoTags, repoDigests, sizeBytes }: SimulatedImage): Image {
  return Image.fromPartial({
    id,
    repoTags: [...repoTags],
    repoDigests: [...repoDigests],
    size: BigInt(sizeBytes),
    uid: { value: 0n },
    spec: { image: id },
  });
}
