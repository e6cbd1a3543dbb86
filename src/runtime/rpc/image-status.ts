import type { ImageStatusRequest, ImageStatusResponse } from "../../cri/generated/cri.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import type { Images } from "../image/images.ts";
import { imageInfo, imageMessage } from "../message/image-message.ts";
import { invalidArgument } from "../runtime-error.ts";

/** An image that is not there is an answer without an image, not an error. */
export function imageStatus({
  images,
}: {
  images: Pick<Images, "find">;
}): UnaryRpc<ImageStatusRequest, ImageStatusResponse> {
  return async ({ image: spec, verbose }) => {
    if (!spec?.image) throw invalidArgument("image.image is missing");
    const image = images.find(spec.image);
    if (!image) return { image: undefined, info: {} };
    return { image: imageMessage(image), info: verbose ? imageInfo(image) : {} };
  };
}
