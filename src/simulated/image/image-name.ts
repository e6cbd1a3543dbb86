import { createHash } from "node:crypto";
import { parseImageName, repositoryName } from "../../lib/image-name.ts";
import { invalidArgument } from "../failure.ts";

interface NamedImage {
  /** `docker.io/library/busybox`. */
  readonly repository: string;
  /** Empty where there is a digest. */
  readonly tag: string;
  /** `sha256:…`: the one it names, else one that is always the same for the name. */
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

/** Of what has no bytes: the same for the same text, always. */
export function fakeDigest(text: string): string {
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}
