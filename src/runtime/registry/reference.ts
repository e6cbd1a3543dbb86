import { ImageError } from "../image/image-error.ts";

/** Where an image is: `host/repository`, and which one there, by tag or by digest. */
export interface Reference {
  /** With its port, as people write it: `docker.io`, `127.0.0.1:5000`. */
  readonly host: string;
  /** Below the host: `library/busybox`. */
  readonly repository: string;
  readonly tag?: string;
  readonly digest?: string;
}

const component = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const tagPattern = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
const hostPattern = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:.]+\])(?::[0-9]{1,5})?$/;
const digestPattern = /^sha256:[0-9a-f]{64}$/;
const maxNameLength = 255;

export function isDigest(text: string): boolean {
  return digestPattern.test(text);
}

/** Docker's short names included: `busybox` is `docker.io/library/busybox:latest`. */
export function parseReference(text: string): Reference {
  const at = text.indexOf("@");
  const digest = at === -1 ? undefined : text.slice(at + 1);
  if (digest !== undefined && !isDigest(digest)) {
    throw invalid(text, "the part after @ must be sha256: and 64 hexadecimal digits");
  }
  const named = at === -1 ? text : text.slice(0, at);
  // A colon behind the last slash begins the tag; one before it is a port.
  const colon = named.indexOf(":", named.lastIndexOf("/") + 1);
  const tag = colon === -1 ? undefined : named.slice(colon + 1);
  if (tag !== undefined && !tagPattern.test(tag)) throw invalid(text, `the tag "${tag}" is not one`);

  const { host, path } = splitHost(colon === -1 ? named : named.slice(0, colon));
  const repository = host === "docker.io" && !path.includes("/") ? `library/${path}` : path;
  if (!hostPattern.test(host)) throw invalid(text, `"${host}" is not a registry's host`);
  if (!repository.split("/").every((part) => component.test(part))) {
    throw invalid(text, "names are lower-case letters, digits and single separators (. _ -)");
  }
  if (repository.length > maxNameLength) throw invalid(text, `longer than ${maxNameLength} characters`);
  if (tag === undefined && digest === undefined) return { host, repository, tag: "latest" };
  return { host, repository, ...(tag !== undefined && { tag }), ...(digest !== undefined && { digest }) };
}

/** `docker.io/library/busybox`. */
export function repositoryName({ host, repository }: Reference): string {
  return `${host}/${repository}`;
}

export function formatReference(reference: Reference): string {
  const tag = reference.tag === undefined ? "" : `:${reference.tag}`;
  const digest = reference.digest === undefined ? "" : `@${reference.digest}`;
  return `${repositoryName(reference)}${tag}${digest}`;
}

/** The first part is a host only when it looks like one: a dot, a port, or localhost. */
function splitHost(name: string): { host: string; path: string } {
  const slash = name.indexOf("/");
  const first = slash === -1 ? "" : name.slice(0, slash);
  const isHost = first === "localhost" || /[.:]/.test(first) || first !== first.toLowerCase();
  if (!isHost) return { host: "docker.io", path: name };
  const path = name.slice(slash + 1);
  return { host: first === "index.docker.io" ? "docker.io" : first, path };
}

function invalid(text: string, why: string): ImageError {
  return new ImageError("invalidReference", `"${text}" is not an image reference: ${why}`);
}
