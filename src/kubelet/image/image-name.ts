import { quoteGo } from "../quote-go.ts";

/** The parts of an image's name in full: `busybox` is repository `docker.io/library/busybox`, tag `latest`. */
export interface ImageName {
  readonly repository: string;
  /** `latest` where the name has neither tag nor digest; empty where it has a digest only. */
  readonly tag: string;
  readonly digest: string;
}

const domainPart = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
const domain = `(?:${domainPart}(?:\\.${domainPart})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const pathPart = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const digestPart = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}";
const reference = new RegExp(
  `^(${domain})/(${pathPart}(?:/${pathPart})*)(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(${digestPart}))?$`,
);

/** What each algorithm's digest looks like. */
const digestLengths: Readonly<Record<string, number>> = { sha256: 64, sha384: 96, sha512: 128 };
const maxPathLength = 255;
/** Longer than any name that the rules below let through; a hostile one is not worth a regular expression. */
const maxLength = 4_096;

/** Throws an Error in the words of KEP-3815, which are those of upstream when it was written. */
export function parseImageName(image: string): ImageName {
  const refuse = (why: string) => new Error(`couldn't parse image reference ${quoteGo(image)}: ${why}`);
  if (image.length > maxLength) throw refuse(tooLong);
  if (/^[a-f0-9]{64}$/.test(image)) {
    throw refuse(`invalid repository name (${image}), cannot specify 64-byte hexadecimal strings`);
  }
  const [host, rest] = splitDomain(image);
  const [remote = ""] = rest.split(":", 1);
  if (remote !== remote.toLowerCase()) {
    throw refuse("invalid reference format: repository name must be lowercase");
  }
  const parts = reference.exec(`${host}/${rest}`);
  if (!parts) throw refuse("invalid reference format");
  const [, domainName = "", path = "", tag = "", digest = ""] = parts;
  if (path.length > maxPathLength) throw refuse(tooLong);
  const problem = digest && digestProblem(digest);
  if (problem) throw refuse(problem);
  return { repository: `${domainName}/${path}`, tag: tag || (digest ? "" : "latest"), digest };
}

const tooLong = `repository name must not be more than ${maxPathLength} characters`;

/**
 * The name that the runtime is asked for: with `:latest` where it has neither tag nor digest. Not in full: which
 * registry a short name means is the runtime's to say.
 */
export function applyDefaultTag(image: string): string {
  const { tag, digest } = parseImageName(image);
  return digest === "" && !image.endsWith(`:${tag}`) ? `${image}:${tag}` : image;
}

/** The first part is a host only where it looks like one. */
function splitDomain(name: string): [domain: string, rest: string] {
  const slash = name.indexOf("/");
  if (slash === -1) return ["docker.io", `library/${name}`];
  const first = name.slice(0, slash);
  const rest = name.slice(slash + 1);
  const isHost = first === "localhost" || /[.:]/.test(first) || first !== first.toLowerCase();
  if (!isHost) return ["docker.io", name];
  if (first !== "docker.io" && first !== "index.docker.io") return [first, rest];
  return ["docker.io", rest.includes("/") ? rest : `library/${rest}`];
}

function digestProblem(digest: string): string | undefined {
  const colon = digest.indexOf(":");
  const algorithm = digest.slice(0, colon);
  const hex = digest.slice(colon + 1);
  const length = Object.hasOwn(digestLengths, algorithm) ? digestLengths[algorithm] : undefined;
  if (length === undefined) return "unsupported digest algorithm";
  if (hex.length !== length) return "invalid checksum digest length";
  return hex === hex.toLowerCase() ? undefined : "invalid checksum digest format";
}
