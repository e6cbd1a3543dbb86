import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { isMapping } from "../../lib/is-mapping.ts";

/** Credentials of a pull request, with the fields of CRI's AuthConfig. */
export interface RegistryAuth {
  readonly username?: string;
  readonly password?: string;
  readonly auth?: string;
  readonly identityToken?: string;
  readonly registryToken?: string;
  readonly serverAddress?: string;
}

/** Credential for one registry. */
export type Credential =
  | { readonly kind: "anonymous" }
  | { readonly kind: "basic"; readonly username: string; readonly password: string }
  /** Exchanged for access tokens by OAuth 2. */
  | { readonly kind: "identityToken"; readonly token: string }
  /** Sent as a bearer token. */
  | { readonly kind: "registryToken"; readonly token: string };

/** Chooses the credential of the request, or else the one that `docker login` stored for the host. */
export function chooseCredential(
  host: string,
  request: RegistryAuth | undefined,
  dockerConfig: ReadonlyMap<string, RegistryAuth>,
): Credential {
  const asked = request && isFor(request, host) ? toCredential(request) : undefined;
  return asked ?? toCredential(dockerConfig.get(host) ?? {}) ?? { kind: "anonymous" };
}

/** Whether the credentials of a request apply to the host: they must not leak to a redirect target or a mirror. */
function isFor({ serverAddress }: RegistryAuth, host: string): boolean {
  return !serverAddress || normalizeHost(serverAddress) === host;
}

function toCredential(auth: RegistryAuth): Credential | undefined {
  if (auth.registryToken) return { kind: "registryToken", token: auth.registryToken };
  if (auth.identityToken) return { kind: "identityToken", token: auth.identityToken };
  if (auth.username) return { kind: "basic", username: auth.username, password: auth.password ?? "" };
  if (!auth.auth) return undefined;
  const decoded = Buffer.from(auth.auth, "base64").toString("utf8");
  const colon = decoded.indexOf(":");
  if (colon === -1) return undefined;
  // Docker pads passwords with NUL bytes in some old files.
  return {
    kind: "basic",
    username: decoded.slice(0, colon),
    password: decoded.slice(colon + 1).replace(/\0+$/, ""),
  };
}

/** Parses the `auths` of a docker config file by host. A missing or unreadable file has none. */
export function parseDockerConfig(text: string): Map<string, RegistryAuth> {
  const found = new Map<string, RegistryAuth>();
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return found;
  }
  const auths = field(parsed, "auths");
  if (typeof auths !== "object" || auths === null) return found;
  for (const [server, entry] of Object.entries(auths)) {
    const text = (name: string) => {
      const value = field(entry, name);
      return typeof value === "string" ? value : undefined;
    };
    found.set(normalizeHost(server), {
      username: text("username"),
      password: text("password"),
      auth: text("auth"),
      identityToken: text("identitytoken"),
      registryToken: text("registrytoken"),
    });
  }
  return found;
}

export function readDockerConfig(file = defaultFile()): Map<string, RegistryAuth> {
  try {
    return parseDockerConfig(readFileSync(file, "utf8"));
  } catch {
    return new Map();
  }
}

function defaultFile(): string {
  return join(process.env.DOCKER_CONFIG ?? join(homedir(), ".docker"), "config.json");
}

/** Reduces `https://index.docker.io/v1/` and other forms to the registry's host. */
function normalizeHost(server: string): string {
  const host = server.replace(/^https?:\/\//, "").replace(/\/.*$/, "");
  return host === "index.docker.io" || host === "registry-1.docker.io" ? "docker.io" : host;
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

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
