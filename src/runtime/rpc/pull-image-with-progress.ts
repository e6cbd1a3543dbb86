import type { PullImageWithProgressRequest, PullImageWithProgressResponse } from "../../cri/generated/cri.ts";
import type { StreamRpc } from "../../cri/serve-call.ts";
import type { Image, Images, PullReport } from "../image/images.ts";
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
    details: layers.map(({ digest, offset, total, stage }) => ({
      layer: digest,
      offset: { value: BigInt(offset) },
      total: { value: BigInt(total) },
      stage,
    })),
  };
}
