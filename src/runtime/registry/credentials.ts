import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { RegistryAuth } from "../image/images.ts";

/** How we prove ourselves to one registry. */
export type Credential =
  | { readonly kind: "anonymous" }
  | { readonly kind: "basic"; readonly username: string; readonly password: string }
  /** Exchanged for tokens by OAuth 2. */
  | { readonly kind: "identityToken"; readonly token: string }
  /** Sent as it is. */
  | { readonly kind: "registryToken"; readonly token: string };

/** What the request carries wins; else what `docker login` left for the host. */
export function chooseCredential(
  host: string,
  request: RegistryAuth | undefined,
  dockerConfig: ReadonlyMap<string, RegistryAuth>,
): Credential {
  const asked = request && isFor(request, host) ? toCredential(request) : undefined;
  return asked ?? toCredential(dockerConfig.get(host) ?? {}) ?? { kind: "anonymous" };
}

/** A request may name the server its credentials are for: a redirected or mirrored pull must not spill them. */
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
  // Docker pads with NUL bytes in some old files.
  return {
    kind: "basic",
    username: decoded.slice(0, colon),
    password: decoded.slice(colon + 1).replace(/\0+$/, ""),
  };
}

/** The `auths` of a docker config file by host; a missing or unreadable file is an empty one. */
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

/** `https://index.docker.io/v1/` and `docker.io` are one. */
function normalizeHost(server: string): string {
  const host = server.replace(/^https?:\/\//, "").replace(/\/.*$/, "");
  return host === "index.docker.io" || host === "registry-1.docker.io" ? "docker.io" : host;
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
