import { parse } from "yaml";
import { formatImageName } from "../lib/image-name.ts";
import { isMapping } from "../lib/is-mapping.ts";
import { messageOf } from "../lib/message-of.ts";
import { parseReference } from "./registry/reference.ts";
import { noRegistries, parseRegistries, type RegistriesConfig } from "./registry/registries-config.ts";

/**
 * The file of `kindling runtime --config` (YAML or JSON); everything in it may be left out:
 *
 *     mirrors:
 *       docker.io: ["https://mirror.example.com", "http://10.0.0.2:5000"]
 *     plainHttp: ["registry.lan:5000"]
 *     certificateAuthorities:
 *       registry.example.com: /etc/ssl/our-ca.pem
 *     handlers:
 *       crun: crun
 *       sandboxed: /usr/local/bin/runsc
 *       light: host
 *     pinnedImages: [registry.example.com/agent:1]
 */
export interface RuntimeConfig {
  readonly registries: RegistriesConfig;
  /** What runs the pods of a RuntimeClass: by its handler, an OCI runtime's name or path, or `host`. */
  readonly handlers: ReadonlyMap<string, string>;
  /** Whole references: garbage collectors leave these alone. */
  readonly pinnedImages: ReadonlySet<string>;
}

export const noConfig: RuntimeConfig = {
  registries: noRegistries,
  handlers: new Map(),
  pinnedImages: new Set(),
};

/** What the file may have, for its reader and for the docs. */
export const runtimeConfigFields = [
  {
    name: "mirrors",
    meaning:
      "By registry, the mirrors that are asked first, in order: `docker.io: [https://mirror.example.com]`. Each request tells them the registry (`?ns=docker.io`), as containerd does.",
  },
  { name: "plainHttp", meaning: "Registries that are spoken to without TLS, beside those on loopback." },
  {
    name: "certificateAuthorities",
    meaning: "By registry, a PEM file with the CAs that may sign its certificate.",
  },
  {
    name: "handlers",
    meaning:
      "By the handler that a RuntimeClass names, the OCI runtime that runs its pods: a name, a path, or `host` for util-linux alone.",
  },
  {
    name: "pinnedImages",
    meaning:
      "Images that kubelets and `crictl rmi --prune` never remove, by name and tag or digest; RemoveImage still does.",
  },
] as const;

const fieldNames: readonly string[] = runtimeConfigFields.map(({ name }) => name);

export function parseRuntimeConfig(text: string, file: string): RuntimeConfig {
  const refuse = (why: string) => new Error(`${file}: ${why}`);
  let parsed: unknown;
  try {
    parsed = parse(text) ?? {};
  } catch (error) {
    throw refuse(messageOf(error));
  }
  const there = `there are ${fieldNames.join(", ")}`;
  if (!isMapping(parsed)) throw refuse(`must be a mapping; ${there}`);
  const unknown = Object.keys(parsed).find((key) => !fieldNames.includes(key));
  if (unknown !== undefined) throw refuse(`unknown field "${unknown}"; ${there}`);
  const { handlers = {}, pinnedImages = [], ...registries } = parsed;
  if (!isMapping(handlers)) throw refuse("handlers must map names to OCI runtimes");
  return {
    registries: parseRegistries(registries, refuse),
    handlers: new Map(Object.entries(handlers).map((entry) => parseHandler(entry, refuse))),
    pinnedImages: parsePinned(pinnedImages, refuse),
  };
}

function parsePinned(images: unknown, refuse: (why: string) => Error): Set<string> {
  if (!Array.isArray(images) || !images.every((image) => typeof image === "string"))
    throw refuse("pinnedImages must be a list of images");
  try {
    return new Set(images.map((image) => formatImageName(parseReference(image))));
  } catch (error) {
    throw refuse(`pinnedImages: ${messageOf(error)}`);
  }
}

function parseHandler([name, program]: [string, unknown], refuse: (why: string) => Error): [string, string] {
  // As the API wants it of a RuntimeClass; it also names a directory.
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name))
    throw refuse(`handlers: "${name}" must be lower-case letters, digits and dashes, 63 at most`);
  if (typeof program !== "string" || program === "")
    throw refuse(`handlers.${name} must be the name or path of an OCI runtime, or host`);
  return [name, program];
}
