import type {
  LayerProgress as LayerMessage,
  PullImageWithProgressRequest,
  PullImageWithProgressResponse,
} from "../../cri/generated/cri.ts";
import type { StreamRpc } from "../../cri/serve-call.ts";
import type { Image, Images, LayerProgress, PullReport } from "../image/images.ts";
import { parsePullWithProgress } from "./pull-request.ts";

/** A report each interval; the last message has the reference that containers are made from. */
export function pullImageWithProgress({
  images,
}: {
  images: Pick<Images, "pull">;
}): StreamRpc<PullImageWithProgressRequest, PullImageWithProgressResponse> {
  return async function* (request, { signal }) {
    const pull = { ...parsePullWithProgress(request), signal };
    const toMessage = createProgressMessages({ reference: pull.reference, verbose: request.verbosity });
    for await (const report of images.pull(pull)) yield toMessage(report);
  };
}

/** The id, as containerd answers: kubelets compare it with the id in ImageStatus, and make containers from it. */
export function imageReference(image: Image): string {
  return image.id;
}

/**
 * A layer that stands still keeps its message from one report to the next: it is then encoded once (serialize-progress).
 * Exported for its test.
 */
export function createProgressMessages({
  reference,
  verbose,
}: {
  reference: string;
  verbose: boolean;
}): (report: PullReport) => PullImageWithProgressResponse {
  let told: readonly LayerProgress[] = [];
  let messages: readonly LayerMessage[] = [];
  return (report) => {
    const layers = verbose ? report.layers : [];
    const details = layers.map(
      (layer, i) => (layer === told[i] ? messages[i] : undefined) ?? layerMessage(layer),
    );
    [told, messages] = [layers, details];
    return {
      imageRef: report.kind === "done" ? imageReference(report.image) : reference,
      offset: { value: BigInt(report.offset) },
      total: { value: BigInt(report.total) },
      details,
    };
  };
}

function layerMessage({ digest, offset, total, stage }: LayerProgress): LayerMessage {
  return { layer: digest, offset: { value: BigInt(offset) }, total: { value: BigInt(total) }, stage };
}
