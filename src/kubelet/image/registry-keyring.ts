import { matchGlob } from "./match-glob.ts";

export interface RegistryLogin {
  readonly username: string;
  readonly password: string;
}

/** One entry of a docker configuration: `https://index.docker.io/v1/`, `registry.io:5000/team`, `*.registry.io`. */
export interface KeyringEntry {
  readonly server: string;
  readonly login: RegistryLogin;
}

/** What an image without a host in its name is pulled with when nothing else fits. */
const defaultRegistry = "index.docker.io";

/**
 * The logins that fit an image, the most specific first, by upstream's rules: ports are equal, each part of the host
 * may be a glob, and the path begins with the entry's. All of them are tried: that is how passwords are rotated.
 */
export function findLogins(repository: string, entries: readonly KeyringEntry[]): readonly RegistryLogin[] {
  const byKey = new Map<string, RegistryLogin[]>();
  for (const { server, login } of entries) {
    const key = keyOf(server);
    const logins = byKey.get(key);
    if (logins) logins.push(login);
    else byKey.set(key, [login]);
  }
  const keys = [...byKey.keys()].sort((a, b) => (a < b ? 1 : a > b ? -1 : 0));
  const found = keys.filter((key) => matches(key, repository)).flatMap((key) => byKey.get(key) ?? []);
  if (found.length > 0) return found;
  return isDefaultRegistry(repository) ? (byKey.get(defaultRegistry) ?? []) : [];
}

/** Host and path. `/v1/` and `/v2/`, which docker puts behind a host, are not part of any image's name. */
function keyOf(server: string): string {
  const { host, path } = splitPath(server.replace(/^https?:\/\//, "").replace(/[?#].*$/s, ""));
  const effective = /^\/v[12]\//.test(path) ? path.slice(3) : path;
  return effective === "/" ? host : host + effective;
}

function matches(key: string, repository: string): boolean {
  const glob = splitPath(key);
  const image = splitPath(repository);
  const globHost = splitPort(glob.host);
  const imageHost = splitPort(image.host);
  if (globHost.port !== imageHost.port || !image.path.startsWith(glob.path)) return false;
  const globParts = globHost.name.split(".");
  const imageParts = imageHost.name.split(".");
  if (globParts.length !== imageParts.length) return false;
  return globParts.every((part, i) => matchGlob(part, imageParts[i] ?? ""));
}

function splitPath(address: string): { host: string; path: string } {
  const slash = address.indexOf("/");
  return slash === -1
    ? { host: address, path: "" }
    : { host: address.slice(0, slash), path: address.slice(slash) };
}

function splitPort(host: string): { name: string; port: string } {
  const [, name = host, port = ""] = /^(.*):([0-9]+)$/s.exec(host) ?? [];
  return { name: port === "" ? name : name.replace(/^\[(.*)\]$/s, "$1"), port };
}

function isDefaultRegistry(repository: string): boolean {
  const { host } = splitPath(repository);
  return host === "docker.io" || host === defaultRegistry;
}
