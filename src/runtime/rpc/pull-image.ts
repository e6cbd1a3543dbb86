import type { PullImageRequest, PullImageResponse } from "../../cri/generated/cri.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import type { Images } from "../image/images.ts";
import { RuntimeError } from "../runtime-error.ts";
import { imageReference } from "./pull-image-with-progress.ts";
import { parsePull } from "./pull-request.ts";

export function pullImage({
  images,
}: {
  images: Pick<Images, "pull">;
}): UnaryRpc<PullImageRequest, PullImageResponse> {
  return async (request, { signal }) => {
    for await (const report of images.pull({ ...parsePull(request), signal })) {
      if (report.kind === "done") return { imageRef: imageReference(report.image) };
    }
    throw new RuntimeError("internal", "the pull ended without an image");
  };
}
