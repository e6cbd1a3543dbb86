import { ImageError } from "../errors/image-error.ts";
import type { Credential } from "./credentials.ts";
import { reachOfTokenServer, readBody, type Transport } from "./transport.ts";

const maxTokenBytes = 1 << 20;

export interface TokenRequest {
  readonly challenge: Extract<Challenge, { kind: "bearer" }>;
  readonly credential: Credential;
  /** Scope when the challenge has none. */
  readonly defaultScope: string;
  /** Base URL of the registry. */
  readonly registry: URL;
  readonly signal: AbortSignal;
}

/** Fetches a bearer token from the authorization server of the challenge. */
export async function fetchToken(transport: Transport, request: TokenRequest): Promise<string> {
  const { challenge, credential, signal } = request;
  if (!URL.canParse(challenge.realm)) {
    throw new ImageError(
      "unauthorized",
      `the registry's token server "${challenge.realm}" is not a valid URL`,
    );
  }
  const url = new URL(challenge.realm);
  const plainHttp = request.registry.protocol === "http:";
  const reach = reachOfTokenServer(request.registry, url);
  if (url.protocol !== "https:" && !plainHttp && credential.kind !== "anonymous") {
    throw new ImageError(
      "unauthorized",
      `token server ${url.host} does not use TLS; credentials are not sent to it`,
    );
  }
  const parameters = new URLSearchParams();
  if (challenge.service) parameters.set("service", challenge.service);
  for (const scope of (challenge.scope ?? request.defaultScope).split(" ")) parameters.append("scope", scope);

  const response =
    credential.kind === "identityToken"
      ? await transport.send({
          url,
          method: "POST",
          headers: { "content-type": "application/x-www-form-urlencoded" },
          body: withGrant(parameters, credential.token).toString(),
          reach,
          signal,
        })
      : await transport.send({
          url: withQuery(url, parameters),
          headers: basicHeader(credential),
          reach,
          signal,
        });
  const body = await readBody(response, maxTokenBytes);
  if (response.status === 429 || response.status >= 500) {
    throw new ImageError("network", `${url.host} responds with status ${response.status} to a token request`);
  }
  if (response.status !== 200) {
    throw new ImageError(
      "unauthorized",
      `${url.host} rejects the token request (${response.status}); check the credentials`,
    );
  }
  return parseToken(body.toString("utf8"), url.host);
}

export function basicHeader(credential: Credential): Record<string, string> {
  if (credential.kind !== "basic") return {};
  const pair = Buffer.from(`${credential.username}:${credential.password}`).toString("base64");
  return { authorization: `Basic ${pair}` };
}

function withGrant(parameters: URLSearchParams, refreshToken: string): URLSearchParams {
  parameters.set("grant_type", "refresh_token");
  parameters.set("refresh_token", refreshToken);
  parameters.set("client_id", "kindling");
  return parameters;
}

function withQuery(url: URL, parameters: URLSearchParams): URL {
  const requested = new URL(url);
  for (const [name, value] of parameters) requested.searchParams.append(name, value);
  return requested;
}

function parseToken(text: string, host: string): string {
  try {
    const { token, access_token } = JSON.parse(text) as { token?: unknown; access_token?: unknown };
    const found = token || access_token;
    if (typeof found === "string" && found !== "") return found;
  } catch {
    // Reported below.
  }
  throw new ImageError("unauthorized", `${host} responded to a token request without a token`);
}

/** Challenge of a registry in `WWW-Authenticate`. */
type Challenge =
  | { readonly kind: "basic" }
  | { readonly kind: "bearer"; readonly realm: string; readonly service?: string; readonly scope?: string };

/** Maximum length of the header; longer than any that a registry needs. */
const maxHeaderLength = 4_096;

/** Parses the header and returns its strongest supported challenge: a token is preferred to a password. */
export function parseChallenge(header: string | undefined): Challenge | undefined {
  if (!header || header.length > maxHeaderLength) return undefined;
  const bearer = /(?:^|,)\s*bearer\s+(.*)$/is.exec(header);
  if (bearer?.[1] !== undefined) {
    const parameters = parseParameters(bearer[1]);
    const realm = parameters.get("realm");
    if (realm) {
      return { kind: "bearer", realm, service: parameters.get("service"), scope: parameters.get("scope") };
    }
  }
  return /(?:^|,)\s*basic\b/i.test(header) ? { kind: "basic" } : undefined;
}

function parseParameters(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, name = "", quoted, bare] of text.matchAll(
    /([a-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))/gi,
  )) {
    const key = name.toLowerCase();
    if (!found.has(key)) found.set(key, quoted?.replace(/\\(.)/g, "$1") ?? bare ?? "");
  }
  return found;
}
