import { ImageError } from "../image/image-error.ts";
import type { Challenge } from "./challenge.ts";
import type { Credential } from "./credentials.ts";
import { isReferral } from "./referral.ts";
import { readText, type Transport } from "./transport.ts";

const maxTokenBytes = 1 << 20;

export interface TokenRequest {
  readonly challenge: Extract<Challenge, { kind: "bearer" }>;
  readonly credential: Credential;
  /** When the challenge names none. */
  readonly defaultScope: string;
  /** The registry's own address. */
  readonly registry: URL;
  readonly signal: AbortSignal;
}

/** A bearer token from the authorization server that the registry names. */
export async function fetchToken(transport: Transport, request: TokenRequest): Promise<string> {
  const { challenge, credential, signal } = request;
  if (!URL.canParse(challenge.realm)) {
    throw new ImageError(
      "unauthorized",
      `the registry names "${challenge.realm}" for tokens, which is no address`,
    );
  }
  const url = new URL(challenge.realm);
  const plainHttp = request.registry.protocol === "http:";
  const isReferred = isReferral(request.registry, url);
  if (url.protocol !== "https:" && !plainHttp && credential.kind !== "anonymous") {
    throw new ImageError(
      "unauthorized",
      `${url.host} hands out tokens without TLS; credentials are not sent there`,
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
          isReferred,
          signal,
        })
      : await transport.send({
          url: withQuery(url, parameters),
          headers: basicHeader(credential),
          isReferred,
          signal,
        });
  const body = await readText(response, maxTokenBytes);
  if (response.status === 429 || response.status >= 500) {
    throw new ImageError("network", `${url.host} answers ${response.status} when asked for a token`);
  }
  if (response.status !== 200) {
    throw new ImageError(
      "unauthorized",
      `${url.host} refuses a token (${response.status}); check the credentials`,
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
  const asked = new URL(url);
  for (const [name, value] of parameters) asked.searchParams.append(name, value);
  return asked;
}

function parseToken(text: string, host: string): string {
  try {
    const { token, access_token } = JSON.parse(text) as { token?: unknown; access_token?: unknown };
    const found = token || access_token;
    if (typeof found === "string" && found !== "") return found;
  } catch {
    // Told below.
  }
  throw new ImageError("unauthorized", `${host} answers a token request without a token`);
}
