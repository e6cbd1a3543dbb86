import { isIP } from "node:net";
import { isAbsolute } from "node:path";
import { isMapping } from "../../lib/is-mapping.ts";

/** Mirrors and trust settings of registries. */
export interface RegistriesConfig {
  readonly mirrors: ReadonlyMap<string, readonly string[]>;
  readonly plainHttp: ReadonlySet<string>;
  /** File of additional CA certificates by host with port. */
  readonly certificateAuthorities: ReadonlyMap<string, string>;
}

export const noRegistries: RegistriesConfig = {
  mirrors: new Map(),
  plainHttp: new Set(),
  certificateAuthorities: new Map(),
};

export interface Endpoint {
  /** Key of the host's credentials in a docker config. */
  readonly host: string;
  /** Base URL with a trailing slash: `https://registry-1.docker.io/v2/`. */
  readonly baseUrl: URL;
  /**
   * Registry that a mirror stands for, sent with each request as containerd does, because a mirror may serve several.
   */
  readonly namespace?: string;
}

/** Parses the registry settings of the configuration file. */
export function parseRegistries(
  fields: Readonly<Record<string, unknown>>,
  invalid: (why: string) => Error,
): RegistriesConfig {
  const { mirrors = {}, plainHttp = [], certificateAuthorities = {} } = fields;
  if (!isMapping(mirrors)) throw invalid("mirrors must map hosts to lists of addresses");
  if (!isStrings(plainHttp)) throw invalid("plainHttp must be a list of hosts");
  if (!isMapping(certificateAuthorities))
    throw invalid("certificateAuthorities must map hosts to files of certificates");
  const byHost = new Map<string, readonly string[]>();
  for (const [host, addresses] of Object.entries(mirrors)) {
    if (!isStrings(addresses)) throw invalid(`mirrors.${host} must be a list of addresses`);
    const wrong = addresses.find((address) => !/^https?:\/\/[^/]/.test(address) || !URL.canParse(address));
    if (wrong !== undefined) throw invalid(`mirrors.${host}: "${wrong}" must begin with http:// or https://`);
    byHost.set(host, addresses);
  }
  const authorities = new Map<string, string>();
  for (const [host, file] of Object.entries(certificateAuthorities)) {
    if (typeof file !== "string" || !isAbsolute(file))
      throw invalid(`certificateAuthorities.${host} must be the path of a file (absolute)`);
    authorities.set(host, file);
  }
  return { mirrors: byHost, plainHttp: new Set(plainHttp), certificateAuthorities: authorities };
}

/** Endpoints to try in order: mirrors first, then the registry itself. */
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

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
