import { createHash } from "node:crypto";
import { parseImageName, repositoryName } from "../../lib/image/image-name.ts";
import { invalidArgument } from "./failure.ts";

export interface SimulatedImage {
  readonly id: string;
  readonly repoTags: readonly string[];
  readonly repoDigests: readonly string[];
  readonly sizeBytes: number;
}

/** Present images by id. */
export type ImageStore = Map<string, SimulatedImage>;

/** Image for a reference. Its id is derived from the name, so that it is the same on every node. */
export function imageOf(reference: string, sizeBytes: number): SimulatedImage {
  const { repository, tag, digest } = nameImage(reference);
  return {
    id: fakeDigest(`config ${repository}@${digest}`),
    repoTags: tag === "" ? [] : [`${repository}:${tag}`],
    repoDigests: [`${repository}@${digest}`],
    sizeBytes,
  };
}

/** Finds an image by id, unique id prefix or reference. */
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
    // Not a valid reference.
    return undefined;
  }
}

interface NamedImage {
  /** `docker.io/library/busybox`. */
  readonly repository: string;
  /** Empty if there is a digest. */
  readonly tag: string;
  /** `sha256:…`: the digest in the reference, else one derived from the name. */
  readonly digest: string;
}

export function nameImage(text: string): NamedImage {
  const name = parseImageName(text);
  if ("problem" in name) {
    throw invalidArgument(
      `"${text}" is not an image reference (${name.problem}): write it like docker.io/library/busybox:1.36`,
    );
  }
  const repository = repositoryName(name);
  const { tag = "", digest } = name;
  if (digest !== undefined) return { repository, tag: "", digest };
  return { repository, tag, digest: fakeDigest(`manifest ${repository}:${tag}`) };
}

/** Deterministic digest of a text, for objects without content. */
export function fakeDigest(text: string): string {
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}
