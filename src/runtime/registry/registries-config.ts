import { isIP } from "node:net";
import { parse } from "yaml";
import { ImageError } from "../image/image-error.ts";

/**
 * Which addresses stand for a registry. The file (YAML or JSON):
 *
 *     mirrors:
 *       docker.io: ["https://mirror.example.com", "http://10.0.0.2:5000"]
 *     plainHttp: ["registry.lan:5000"]
 */
export interface RegistriesConfig {
  readonly mirrors: ReadonlyMap<string, readonly string[]>;
  readonly plainHttp: ReadonlySet<string>;
}

export const noRegistries: RegistriesConfig = { mirrors: new Map(), plainHttp: new Set() };

export interface Endpoint {
  /** What the credentials of a docker config are filed under. */
  readonly host: string;
  /** With a slash at its end: `https://registry-1.docker.io/v2/`. */
  readonly baseUrl: URL;
}

export function parseRegistriesConfig(text: string, file: string): RegistriesConfig {
  const refuse = (why: string) => new ImageError("invalidConfig", `${file}: ${why}`);
  let parsed: unknown;
  try {
    parsed = parse(text) ?? {};
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : String(error));
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    throw refuse("must be a mapping with mirrors and plainHttp");
  }
  const unknown = Object.keys(parsed).find((key) => key !== "mirrors" && key !== "plainHttp");
  if (unknown !== undefined) throw refuse(`unknown field "${unknown}"; there are mirrors and plainHttp`);
  const { mirrors = {}, plainHttp = [] } = parsed as { mirrors?: unknown; plainHttp?: unknown };
  if (typeof mirrors !== "object" || mirrors === null)
    throw refuse("mirrors must map hosts to lists of addresses");
  if (!isTexts(plainHttp)) throw refuse("plainHttp must be a list of hosts");
  const byHost = new Map<string, readonly string[]>();
  for (const [host, addresses] of Object.entries(mirrors)) {
    if (!isTexts(addresses)) throw refuse(`mirrors.${host} must be a list of addresses`);
    const wrong = addresses.find((address) => !/^https?:\/\/[^/]/.test(address) || !URL.canParse(address));
    if (wrong !== undefined) throw refuse(`mirrors.${host}: "${wrong}" must begin with http:// or https://`);
    byHost.set(host, addresses);
  }
  return { mirrors: byHost, plainHttp: new Set(plainHttp) };
}

/** The addresses to try in order: mirrors first, the registry itself last. */
export function endpointsFor(host: string, config: RegistriesConfig): Endpoint[] {
  const mirrors = (config.mirrors.get(host) ?? []).map((address) => {
    const url = new URL(address);
    const path = url.pathname.replace(/\/+$/, "");
    return {
      host: url.host,
      baseUrl: new URL(`${url.origin}${path.endsWith("/v2") ? path : `${path}/v2`}/`),
    };
  });
  const scheme = config.plainHttp.has(host) || isLoopback(host) ? "http" : "https";
  const address = host === "docker.io" ? "registry-1.docker.io" : host;
  return [...mirrors, { host, baseUrl: new URL(`${scheme}://${address}/v2/`) }];
}

function isLoopback(host: string): boolean {
  const name = host.replace(/:\d+$/, "").replace(/^\[|\]$/g, "");
  return name === "localhost" || name === "::1" || (isIP(name) === 4 && name.startsWith("127."));
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
