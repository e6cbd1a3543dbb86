import { parse } from "yaml";
import { formatImageName } from "../lib/image/image-name.ts";
import { isMapping } from "../lib/is-mapping.ts";
import { messageOf } from "../lib/message-of.ts";
import { noRegistries, parseRegistries, type RegistriesConfig } from "./registry/credentials.ts";
import { parseReference } from "./registry/reference.ts";

/**
 * Configuration file of `kindling runtime --config` (YAML or JSON). All fields are optional:
 *
 *     mirrors:
 *       docker.io: ["https://mirror.example.com", "http://10.0.0.2:5000"]
 *     plainHttp: ["registry.lan:5000"]
 *     certificateAuthorities:
 *       registry.example.com: /etc/ssl/our-ca.pem
 *     handlers:
 *       crun: crun
 *       youki: /usr/local/bin/youki
 *       light: host
 *     pinnedImages: [registry.example.com/agent:1]
 */
export interface RuntimeConfig {
  readonly registries: RegistriesConfig;
  /** Runtimes by RuntimeClass handler: an OCI runtime's name or path, or `host`. */
  readonly handlers: ReadonlyMap<string, string>;
  /** Full references of images that garbage collection keeps. */
  readonly pinnedImages: ReadonlySet<string>;
}

export const noConfig: RuntimeConfig = {
  registries: noRegistries,
  handlers: new Map(),
  pinnedImages: new Set(),
};

/** Fields of the file, for the parser and for the docs. */
export const runtimeConfigFields = [
  {
    name: "mirrors",
    meaning:
      "Mirrors to try before a registry, in order: `docker.io: [https://mirror.example.com]`. Each request contains the registry (`?ns=docker.io`), as in containerd.",
  },
  { name: "plainHttp", meaning: "Registries to use without TLS, in addition to those on loopback." },
  {
    name: "certificateAuthorities",
    meaning: "PEM file with the additional CAs of a registry, by registry.",
  },
  {
    name: "handlers",
    meaning:
      "OCI runtime by RuntimeClass handler: the name or path of a program with runc's command line, or `host` for util-linux alone.",
  },
  {
    name: "pinnedImages",
    meaning:
      "Images that kubelets and `crictl rmi --prune` never remove, by name and tag or digest; RemoveImage still removes them.",
  },
] as const;

const fieldNames: readonly string[] = runtimeConfigFields.map(({ name }) => name);

export function parseRuntimeConfig(text: string, file: string): RuntimeConfig {
  const invalid = (why: string) => new Error(`${file}: ${why}`);
  let parsed: unknown;
  try {
    parsed = parse(text) ?? {};
  } catch (error) {
    throw invalid(messageOf(error));
  }
  const there = `there are ${fieldNames.join(", ")}`;
  if (!isMapping(parsed)) throw invalid(`must be a mapping; ${there}`);
  const unknown = Object.keys(parsed).find((key) => !fieldNames.includes(key));
  if (unknown !== undefined) throw invalid(`unknown field "${unknown}"; ${there}`);
  const { handlers = {}, pinnedImages = [], ...registries } = parsed;
  if (!isMapping(handlers)) throw invalid("handlers must map names to OCI runtimes");
  return {
    registries: parseRegistries(registries, invalid),
    handlers: new Map(Object.entries(handlers).map((entry) => parseHandler(entry, invalid))),
    pinnedImages: parsePinned(pinnedImages, invalid),
  };
}

function parsePinned(images: unknown, invalid: (why: string) => Error): Set<string> {
  if (!Array.isArray(images) || !images.every((image) => typeof image === "string"))
    throw invalid("pinnedImages must be a list of images");
  try {
    return new Set(images.map((image) => formatImageName(parseReference(image))));
  } catch (error) {
    throw invalid(`pinnedImages: ${messageOf(error)}`);
  }
}

function parseHandler([name, program]: [string, unknown], invalid: (why: string) => Error): [string, string] {
  // The API's rule for a RuntimeClass handler; it also names a directory.
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name))
    throw invalid(`handlers: "${name}" must be lower-case letters, digits and dashes, 63 at most`);
  if (typeof program !== "string" || program === "")
    throw invalid(`handlers.${name} must be the name or path of an OCI runtime, or host`);
  return [name, program];
}
