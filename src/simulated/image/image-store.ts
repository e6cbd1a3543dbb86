import { fakeDigest, nameImage } from "./image-name.ts";

export interface SimulatedImage {
  readonly id: string;
  readonly repoTags: readonly string[];
  readonly repoDigests: readonly string[];
  readonly sizeBytes: number;
}

/** The images that are here, by id. */
export type ImageStore = Map<string, SimulatedImage>;

/** The image that a reference would be: its id is its name's, so that every node has the same. */
export function imageOf(reference: string, sizeBytes: number): SimulatedImage {
  const { repository, tag, digest } = nameImage(reference);
  return {
    id: fakeDigest(`config ${repository}@${digest}`),
    repoTags: tag === "" ? [] : [`${repository}:${tag}`],
    repoDigests: [`${repository}@${digest}`],
    sizeBytes,
  };
}

/** By id (whole, or its first digits) or reference. */
export function findImage(images: ImageStore, text: string): SimulatedImage | undefined {
  const id = text.startsWith("sha256:") ? text : `sha256:${text}`;
  const byId = images.get(id);
  if (byId) return byId;
  if (/^sha256:[0-9a-f]{6,64}$/.test(id)) {
    const found = [...images.values()].filter((image) => image.id.startsWith(id));
    if (found.length === 1) return found[0];
  }
  try {
    return images.get(imageOf(text, 0).id);
  } catch {
    // What is no reference names no image.
    return undefined;
  }
}
