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
    for await (const report of images.pull(pull)) {
      yield progressMessage(report, { reference: pull.reference, verbose: request.verbosity });
    }
  };
}

/** The id, as containerd answers: kubelets compare it with the id in ImageStatus, and make containers from it. */
export function imageReference(image: Image): string {
  return image.id;
}

/** Exported for its test. */
export function progressMessage(
  report: PullReport,
  { reference, verbose }: { reference: string; verbose: boolean },
): PullImageWithProgressResponse {
  const layers = verbose ? report.layers : [];
  return {
    imageRef: report.kind === "done" ? imageReference(report.image) : reference,
    offset: { value: BigInt(report.offset) },
    total: { value: BigInt(report.total) },
    details: layers.map(layerMessage),
  };
}

const messages = new WeakMap<LayerProgress, LayerMessage>();

/** The same message for as long as the layer stands still: it is then encoded once. */
function layerMessage(progress: LayerProgress): LayerMessage {
  const known = messages.get(progress);
  if (known) return known;
  const { digest, offset, total, stage } = progress;
  const message = {
    layer: digest,
    offset: { value: BigInt(offset) },
    total: { value: BigInt(total) },
    stage,
  };
  messages.set(progress, message);
  return message;
}
