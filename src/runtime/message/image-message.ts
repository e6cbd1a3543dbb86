import { Image as ImageMessage } from "../../cri/generated/cri.ts";
import type { Image } from "../image/images.ts";

/** An image as CRI shows it. Its user is a uid or a name, without the group. */
export function imageMessage(image: Image): ImageMessage {
  const [user = ""] = image.config.user.split(":");
  const isUid = /^\d+$/.test(user);
  return ImageMessage.fromPartial({
    id: image.id,
    repoTags: [...image.repoTags],
    repoDigests: [...image.repoDigests],
    size: BigInt(image.size),
    ...(isUid && { uid: { value: BigInt(user) } }),
    ...(!isUid && { username: user }),
    spec: { image: image.id },
    pinned: image.pinned,
  });
}
