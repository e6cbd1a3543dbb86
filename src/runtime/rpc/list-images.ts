import type { ListImagesRequest, ListImagesResponse } from "../../cri/generated/cri.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import type { Images } from "../image/images.ts";
import { imageMessage } from "../message/image-message.ts";

export function listImages({
  images,
}: {
  images: Pick<Images, "list" | "find">;
}): UnaryRpc<ListImagesRequest, ListImagesResponse> {
  return async ({ filter }) => {
    const wanted = filter?.image?.image;
    if (!wanted) return { images: images.list().map(imageMessage) };
    const found = images.find(wanted);
    return { images: found ? [imageMessage(found)] : [] };
  };
}
