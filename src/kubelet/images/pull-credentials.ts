import type { Pod, Secret } from "../../api/meta/objects.ts";
import { parseImageName, repositoryName } from "../../lib/image/image-name.ts";
import { isMapping } from "../../lib/is-mapping.ts";
import type { Logger } from "../../lib/logger.ts";
import { matchGlob } from "../../lib/match-glob.ts";

export interface PullCredentials {
  /** Logins to try in order. If empty, the image is pulled without credentials. */
  readonly logins: readonly RegistryLogin[];
  /** Names of pull secrets that do not exist or could not be read. */
  readonly missingSecrets: readonly string[];
}

/** Finds the credentials for an image in the pod's pull secrets. Missing secrets are skipped. */
export async function findPullCredentials(
  { getSecret, logger }: { getSecret: SecretGetter; logger: Logger },
  { pod, image, signal }: { pod: Pod; image: string; signal: AbortSignal },
): Promise<PullCredentials> {
  const names = (pod.spec?.imagePullSecrets ?? []).flatMap(({ name }) => (name ? [name] : []));
  const namespace = pod.metadata.namespace ?? "";
  const secrets = await Promise.all(
    names.map(async (name) => {
      try {
        return await getSecret(namespace, name, signal);
      } catch (error) {
        signal.throwIfAborted();
        logger.warn("failed to read a pull secret", { namespace, secret: name, error });
        return undefined;
      }
    }),
  );
  const entries: KeyringEntry[] = secrets.flatMap((secret) => (secret ? readPullSecret(secret) : []));
  const imageName = parseImageName(image);
  return {
    logins: "problem" in imageName ? [] : findLogins(repositoryName(imageName), entries),
    missingSecrets: names.filter((_, i) => secrets[i] === undefined),
  };
}

export type SecretGetter = (
  namespace: string,
  name: string,
  signal: AbortSignal,
) => Promise<Secret | undefined>;

/** Data key of the configuration by secret type. */
const keys: Readonly<Record<string, string>> = {
  "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
  "kubernetes.io/dockercfg": ".dockercfg",
};

/**
 * Parses the logins of a pull secret. Secrets of other types have none. Throws an Error that describes a malformed
 * secret, because a pull without its credentials would fail with a misleading error.
 */
export function readPullSecret(secret: Secret): readonly KeyringEntry[] {
  const key = keys[secret.type ?? ""];
  const data = key && secret.data?.[key];
  if (!key || !data) return [];
  const malformed = (why: string) => new Error(`${key} of pull secret "${secret.metadata.name}" ${why}`);
  const parsed = parseJson(Buffer.from(data, "base64").toString("utf8"));
  const servers = key === ".dockerconfigjson" ? field(parsed, "auths") : parsed;
  if (!isMapping(parsed) || !isMapping(servers ?? {}))
    throw malformed("is not a docker configuration in JSON");
  return Object.entries(servers ?? {}).map(([server, entry]) => {
    const login = readLogin(entry);
    if (!login)
      throw malformed(`has no usable login for "${server}": auth must be base64(username:password)`);
    return { server, login };
  });
}

/** Parses an entry. As upstream, `auth` takes precedence over `username` and `password`. */
function readLogin(entry: unknown): RegistryLogin | undefined {
  if (!isMapping(entry)) return undefined;
  const { username = "", password = "", auth = "" } = entry;
  if (typeof username !== "string" || typeof password !== "string" || typeof auth !== "string")
    return undefined;
  if (auth === "") return { username, password };
  // Line breaks are removed first, because a regular expression that allows them could backtrack for minutes.
  const text = auth.replaceAll(/[\r\n]/g, "").trimEnd();
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  const decoded = Buffer.from(text, "base64").toString("utf8");
  const colon = decoded.indexOf(":");
  return colon === -1 ? undefined : { username: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function field(value: unknown, name: string): unknown {
  return isMapping(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

export interface RegistryLogin {
  readonly username: string;
  readonly password: string;
}

/** Entry of a docker configuration, such as `https://index.docker.io/v1/`, `registry.io:5000/team`, `*.registry.io`. */
export interface KeyringEntry {
  readonly server: string;
  readonly login: RegistryLogin;
}

/** Key of the login for Docker Hub images if no other entry matches. */
const defaultRegistry = "index.docker.io";

/**
 * Returns the logins that match an image, most specific first, by upstream's rules: ports are equal, each part of the
 * host may be a glob, and the path starts with the entry's path. All are tried, which allows passwords to be rotated.
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

/** Returns host and path of a server. The `/v1/` and `/v2/` of docker configurations are not part of image names. */
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
