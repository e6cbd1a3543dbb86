import { createHash } from "node:crypto";
import { invalidArgument } from "../failure.ts";

export interface ImageName {
  /** `docker.io/library/busybox`. */
  readonly repository: string;
  /** Empty where there is a digest. */
  readonly tag: string;
  /** `sha256:…`: the one it names, else one that is always the same for the name. */
  readonly digest: string;
}

const grammar =
  /^((?:[a-z0-9A-Z.-]+(?::\d+)?\/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*)(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$/;
const longest = 512;

/** Docker's short names included: `busybox` is `docker.io/library/busybox:latest`. */
export function parseImageName(text: string): ImageName {
  const [, name, tag = "latest", digest] = (text.length <= longest && grammar.exec(text)) || [];
  if (name === undefined)
    throw invalidArgument(
      `"${text}" is not an image reference: write it like docker.io/library/busybox:1.36`,
    );
  const repository = fullRepository(name);
  if (digest !== undefined) return { repository, tag: "", digest };
  return { repository, tag, digest: fakeDigest(`manifest ${repository}:${tag}`) };
}

/** Of what has no bytes: the same for the same text, always. */
export function fakeDigest(text: string): string {
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

/** The first part is a host only when it looks like one: a dot, a port, or localhost. */
function fullRepository(name: string): string {
  const slash = name.indexOf("/");
  const first = slash === -1 ? "" : name.slice(0, slash);
  if (first === "localhost" || /[.:]/.test(first)) return name;
  return slash === -1 ? `docker.io/library/${name}` : `docker.io/${name}`;
}
