import { formatImageName, parseImageName, repositoryName } from "../../lib/image-name.ts";
import type { Image } from "./images.ts";

/** By id (whole, or its first digits), digest reference, tag reference or short name. */
export function findImage<T extends Image>(images: readonly T[], text: string): T | undefined {
  const id = text.startsWith("sha256:") ? text : `sha256:${text}`;
  const byId = images.find((image) => image.id === id);
  if (byId) return byId;
  const byReference = findByReference(images, text);
  if (byReference || !/^sha256:[0-9a-f]{6,}$/.test(id)) return byReference;
  const candidates = images.filter((image) => image.id.startsWith(id));
  return candidates.length === 1 ? candidates[0] : undefined;
}

function findByReference<T extends Image>(images: readonly T[], text: string): T | undefined {
  const reference = parseImageName(text);
  if ("problem" in reference) return undefined;
  // A digest says exactly which one: a tag beside it adds nothing.
  if (reference.digest !== undefined) {
    const wanted = `${repositoryName(reference)}@${reference.digest}`;
    return images.find((image) => image.repoDigests.includes(wanted) || image.id === reference.digest);
  }
  const wanted = formatImageName(reference);
  return images.find((image) => image.repoTags.includes(wanted));
}
