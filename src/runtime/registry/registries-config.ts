import { isIP } from "node:net";
import { isAbsolute } from "node:path";
import { isMapping } from "../../lib/is-mapping.ts";

/** Which addresses stand for a registry, and how far they are trusted. */
export interface RegistriesConfig {
  readonly mirrors: ReadonlyMap<string, readonly string[]>;
  readonly plainHttp: ReadonlySet<string>;
  /** By host (with its port), a file of certificates that count there beside the well-known ones. */
  readonly certificateAuthorities: ReadonlyMap<string, string>;
}

export const noRegistries: RegistriesConfig = {
  mirrors: new Map(),
  plainHttp: new Set(),
  certificateAuthorities: new Map(),
};

export interface Endpoint {
  /** What the credentials of a docker config are filed under. */
  readonly host: string;
  /** With a slash at its end: `https://registry-1.docker.io/v2/`. */
  readonly baseUrl: URL;
  /** The registry that a mirror stands for, told with each request as containerd does: one mirror may stand for many. */
  readonly namespace?: string;
}

/** The part of the configuration file that is about registries. */
export function parseRegistries(
  fields: Readonly<Record<string, unknown>>,
  refuse: (why: string) => Error,
): RegistriesConfig {
  const { mirrors = {}, plainHttp = [], certificateAuthorities = {} } = fields;
  if (!isMapping(mirrors)) throw refuse("mirrors must map hosts to lists of addresses");
  if (!isTexts(plainHttp)) throw refuse("plainHttp must be a list of hosts");
  if (!isMapping(certificateAuthorities))
    throw refuse("certificateAuthorities must map hosts to files of certificates");
  const byHost = new Map<string, readonly string[]>();
  for (const [host, addresses] of Object.entries(mirrors)) {
    if (!isTexts(addresses)) throw refuse(`mirrors.${host} must be a list of addresses`);
    const wrong = addresses.find((address) => !/^https?:\/\/[^/]/.test(address) || !URL.canParse(address));
    if (wrong !== undefined) throw refuse(`mirrors.${host}: "${wrong}" must begin with http:// or https://`);
    byHost.set(host, addresses);
  }
  const authorities = new Map<string, string>();
  for (const [host, file] of Object.entries(certificateAuthorities)) {
    if (typeof file !== "string" || !isAbsolute(file))
      throw refuse(`certificateAuthorities.${host} must be the path of a file, from the root`);
    authorities.set(host, file);
  }
  return { mirrors: byHost, plainHttp: new Set(plainHttp), certificateAuthorities: authorities };
}

/** The addresses to try in order: mirrors first, the registry itself last. */
export function endpointsFor(host: string, config: RegistriesConfig): Endpoint[] {
  const address = host === "docker.io" ? "registry-1.docker.io" : host;
  const mirrors = (config.mirrors.get(host) ?? []).map((mirror) => {
    const url = new URL(mirror);
    const path = url.pathname.replace(/\/+$/, "");
    const isItself = url.host === host || url.host === address;
    return {
      host: url.host,
      baseUrl: new URL(`${url.origin}${path.endsWith("/v2") ? path : `${path}/v2`}/`),
      ...(!isItself && { namespace: host }),
    };
  });
  const scheme = config.plainHttp.has(host) || isLoopback(host) ? "http" : "https";
  return [...mirrors, { host, baseUrl: new URL(`${scheme}://${address}/v2/`) }];
}

function isLoopback(host: string): boolean {
  const name = host.replace(/:\d+$/, "").replace(/^\[|\]$/g, "");
  return name === "localhost" || name === "::1" || (isIP(name) === 4 && name.startsWith("127."));
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
