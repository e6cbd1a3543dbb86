import type { SimulatedCore } from "../core.ts";
import { findImage, imageOf, type SimulatedImage } from "./image-store.ts";
import { imageSize } from "./plan-pull.ts";

/** The image, if it is here; where images are here without a pull, it is from now on. */
export function presentImage(
  { state, rules, imagesPresent }: SimulatedCore,
  reference: string,
): SimulatedImage | undefined {
  const found = findImage(state.images, reference);
  if (found || !imagesPresent || reference.startsWith("sha256:")) return found;
  const script = rules.scriptFor("pull", { image: reference });
  if (Object.keys(script).length > 0) return undefined;
  const image = imageOf(reference, imageSize(script));
  state.images.set(image.id, image);
  return image;
}
