import type { RemoveImageRequest, RemoveImageResponse } from "../../cri/generated/cri.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import type { Images } from "../image/images.ts";
import { invalidArgument } from "../runtime-error.ts";

/** Removing what is not there succeeds. */
export function removeImage({
  images,
}: {
  images: Pick<Images, "find" | "remove">;
}): UnaryRpc<RemoveImageRequest, RemoveImageResponse> {
  return async ({ image }) => {
    if (!image?.image) throw invalidArgument("image.image is missing");
    if (images.find(image.image)) await images.remove(image.image);
    return {};
  };
}
