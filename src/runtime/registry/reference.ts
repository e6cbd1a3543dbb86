import { type ImageName, parseImageName } from "../../lib/image/image-name.ts";
import { ImageError } from "../errors/image-error.ts";

const digestPattern = /^sha256:[0-9a-f]{64}$/;

export function isDigest(text: string): boolean {
  return digestPattern.test(text);
}

/** Parses the name of an image that can be requested from a registry. */
export function parseReference(text: string): ImageName {
  const name = parseImageName(text);
  if ("problem" in name) throw invalid(text, name.problem);
  if (name.digest !== undefined && !isDigest(name.digest)) {
    throw invalid(text, "the part after @ must be sha256: and 64 hexadecimal digits");
  }
  if (!URL.canParse(`https://${name.host}`)) throw invalid(text, `${name.host} is not a registry's host`);
  return name;
}

function invalid(text: string, why: string): ImageError {
  return new ImageError(
    "invalidReference",
    `"${text}" is not an image reference (${why}): write it like docker.io/library/busybox:1.36`,
  );
}
