/** Parsed image reference: `busybox` is repository `library/busybox` on host `docker.io` with tag `latest`. */
export interface ImageName {
  /** Host with optional port: `docker.io`, `127.0.0.1:5000`. */
  readonly host: string;
  /** Repository path below the host: `library/busybox`. */
  readonly repository: string;
  /** `latest` if the reference has neither tag nor digest. */
  readonly tag?: string;
  readonly digest?: string;
}

const domainPart = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
const domain = `(?:${domainPart}(?:\\.${domainPart})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const pathPart = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const digestPart = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}";
const grammar = new RegExp(
  `^${domain}/(${pathPart}(?:/${pathPart})*)(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(${digestPart}))?$`,
);

/** Hex digits by digest algorithm. */
const digestLengths: Readonly<Record<string, number>> = { sha256: 64, sha384: 96, sha512: 128 };
const maxPathLength = 255;
/** Limits the input of the regular expression; longer than any valid reference. */
const maxLength = 4_096;
const tooLong = `repository name must not be more than ${maxPathLength} characters`;

/** Parses an image reference. Problems have the texts of upstream's parser, because the kubelet reports them. */
export function parseImageName(text: string): ImageName | { readonly problem: string } {
  if (text.length > maxLength) return { problem: tooLong };
  if (/^[a-f0-9]{64}$/.test(text)) {
    return { problem: `invalid repository name (${text}), cannot specify 64-byte hexadecimal strings` };
  }
  const [host, rest] = splitHost(text);
  const [path = ""] = rest.split(":", 1);
  if (path !== path.toLowerCase()) {
    return { problem: "invalid reference format: repository name must be lowercase" };
  }
  const parts = grammar.exec(`${host}/${rest}`);
  if (!parts) return { problem: "invalid reference format" };
  const [, repository = "", tag, digest] = parts;
  if (repository.length > maxPathLength) return { problem: tooLong };
  if (digest === undefined) return { host, repository, tag: tag ?? "latest" };
  const problem = digestProblem(digest);
  if (problem !== undefined) return { problem };
  return { host, repository, ...(tag !== undefined && { tag }), digest };
}

/** `docker.io/library/busybox`. */
export function repositoryName({ host, repository }: ImageName): string {
  return `${host}/${repository}`;
}

export function formatImageName(name: ImageName): string {
  const tag = name.tag === undefined ? "" : `:${name.tag}`;
  const digest = name.digest === undefined ? "" : `@${name.digest}`;
  return `${repositoryName(name)}${tag}${digest}`;
}

/** Splits off the host. The first component is a host only if it looks like one. */
function splitHost(name: string): [host: string, rest: string] {
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
