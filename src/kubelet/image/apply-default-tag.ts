import { parseImageName } from "../../lib/image-name.ts";
import { quoteGo } from "../quote-go.ts";

/**
 * The name that the runtime is asked for: with `:latest` where it has neither tag nor digest. Not in full: which
 * registry a short name means is the runtime's to say. Throws an Error in the words of KEP-3815, which are those of
 * upstream when it was written.
 */
export function applyDefaultTag(image: string): string {
  const name = parseImageName(image);
  if ("problem" in name) {
    throw new Error(`couldn't parse image reference ${quoteGo(image)}: ${name.problem}`);
  }
  const { tag, digest } = name;
  return digest === undefined && !image.endsWith(`:${tag}`) ? `${image}:${tag}` : image;
}
