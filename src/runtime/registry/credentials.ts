import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

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
