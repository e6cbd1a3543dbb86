import { createRecentMap } from "../../client/recent-map.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import { ImageSpec } from "../../cri/generated/cri.ts";
import type { ImageUser } from "./container-security.ts";

/** Who an image's containers run as unless their pod says otherwise. */
export type ImageUserReader = (imageRef: string, signal: AbortSignal) => Promise<ImageUser>;

/** More images than a node has in use. */
const capacity = 500;

/** Asks the runtime once for each image: what a reference with a digest names never changes. */
export function createImageUserReader(cri: {
  readonly images: Pick<CriClient["images"], "imageStatus">;
}): ImageUserReader {
  const known = createRecentMap<ImageUser>(capacity);
  return async (imageRef, signal) => {
    const before = known.get(imageRef);
    if (before) return before;
    const image = ImageSpec.fromPartial({ image: imageRef });
    const { image: found } = await cri.images.imageStatus({ image, verbose: false }, { signal });
    // Who says nothing runs as root.
    const named = found?.username ? { username: found.username } : { uid: 0 };
    const user = found?.uid ? { uid: Number(found.uid.value) } : named;
    if (found && imageRef.includes("sha256:")) known.set(imageRef, user);
    return user;
  };
}
