import { type ImageName, repositoryName } from "../../lib/image-name.ts";
import { digestOf } from "../content/digest-of.ts";
import { ImageError, isTransient } from "../image/image-error.ts";
import { parseChallenge } from "./challenge.ts";
import type { Credential } from "./credentials.ts";
import { manifestAccept } from "./manifest.ts";
import type { Endpoint } from "./registries-config.ts";
import { basicHeader, fetchToken } from "./token.ts";
import { discard, type HttpResponse, readText, type Transport } from "./transport.ts";

export interface RegistryClientOptions {
  readonly transport: Transport;
  readonly reference: ImageName;
  /** In the order to try. */
  readonly endpoints: readonly Endpoint[];
  readonly credentialFor: (host: string) => Credential;
  /** Called when anything arrives. */
  readonly onActivity: () => void;
}

interface FetchedManifest {
  readonly bytes: Buffer;
  readonly mediaType: string;
  readonly digest: string;
}

/** One repository of a registry and its mirrors. */
export interface RegistryClient {
  manifest(tagOrDigest: string, signal: AbortSignal): Promise<FetchedManifest>;
  /** Status 200 from the start, 206 from `offset`, 416 when there is nothing at `offset`. */
  blob(request: { digest: string; offset: number; signal: AbortSignal }): Promise<HttpResponse>;
}

const maxManifestBytes = 8 << 20;

export function createRegistryClient(options: RegistryClientOptions): RegistryClient {
  const { transport, reference, endpoints, credentialFor, onActivity } = options;
  const authorizations = new Map<string, string>();
  // The endpoint that had the manifest is asked first for its blobs.
  let preferred: Endpoint | undefined;

  async function send(endpoint: Endpoint, path: string, request: SendOptions): Promise<HttpResponse> {
    const url = new URL(`${reference.repository}/${path}`, endpoint.baseUrl);
    if (endpoint.namespace !== undefined) url.searchParams.set("ns", endpoint.namespace);
    const key = endpoint.baseUrl.href;
    const credential = credentialFor(endpoint.host);
    if (credential.kind === "registryToken") authorizations.set(key, `Bearer ${credential.token}`);
    for (let attempt = 0; ; attempt++) {
      const authorization = authorizations.get(key);
      const headers = { ...request.headers, ...(authorization && { authorization }) };
      const response = await transport.send({ url, headers, signal: request.signal });
      onActivity();
      if (request.accepted.includes(response.status)) return response;
      discard(response);
      if (response.status !== 401 || attempt > 0) throw statusError(endpoint, path, response);
      const answer = await authorize(endpoint, credential, response, request.signal);
      if (!answer) throw statusError(endpoint, path, response);
      authorizations.set(key, answer);
    }
  }

  async function authorize(
    endpoint: Endpoint,
    credential: Credential,
    response: HttpResponse,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const challenge = parseChallenge(response.headers["www-authenticate"]);
    if (challenge?.kind === "basic") return basicHeader(credential).authorization;
    if (challenge?.kind !== "bearer") return undefined;
    const token = await fetchToken(transport, {
      challenge,
      credential,
      defaultScope: `repository:${reference.repository}:pull`,
      registry: endpoint.baseUrl,
      signal,
    });
    onActivity();
    return `Bearer ${token}`;
  }

  /** The first endpoint that answers; when none does, what the last one said. */
  async function tryEach<T>(signal: AbortSignal, attempt: (endpoint: Endpoint) => Promise<T>): Promise<T> {
    const ordered = preferred ? [preferred, ...endpoints.filter((other) => other !== preferred)] : endpoints;
    let failure: unknown;
    for (const endpoint of ordered) {
      try {
        const answer = await attempt(endpoint);
        preferred = endpoint;
        return answer;
      } catch (error) {
        signal.throwIfAborted();
        // A registry that is down outweighs a mirror that does not have it: the pull is worth another try.
        if (!isTransient(failure) || isTransient(error)) failure = error;
      }
    }
    throw failure;
  }

  function statusError(endpoint: Endpoint, path: string, response: HttpResponse): ImageError {
    const { status } = response;
    const host = endpoint.baseUrl.host;
    const what = `${repositoryName(reference)} (${path})`;
    if (status === 404)
      return new ImageError("notFound", `${host} does not have ${what}; check name and tag`);
    if (status === 401 || status === 403) {
      const hint =
        credentialFor(endpoint.host).kind === "anonymous"
          ? "it needs credentials, or does not exist"
          : "the credentials are not accepted for it";
      return new ImageError("unauthorized", `${host} refuses ${what}: ${hint}`);
    }
    if (status === 429 || status >= 500) {
      const retryAfterMs = Math.min(60, Number(response.headers["retry-after"]) || 0) * 1_000;
      return new ImageError("network", `${host} answers ${status} for ${what}; try again later`, {
        retryAfterMs,
      });
    }
    return new ImageError("unsupported", `${host} answers ${status} for ${what}`);
  }

  return {
    manifest: (tagOrDigest, signal) =>
      tryEach(signal, async (endpoint) => {
        const headers = { accept: manifestAccept };
        const response = await send(endpoint, `manifests/${tagOrDigest}`, {
          headers,
          signal,
          accepted: [200],
        });
        const bytes = await readText(response, maxManifestBytes);
        onActivity();
        const digest = digestOf(bytes);
        if (tagOrDigest.includes(":") && tagOrDigest !== digest) {
          throw new ImageError(
            "digestMismatch",
            `${endpoint.host} answers a manifest of digest ${digest} when asked for ${tagOrDigest}`,
          );
        }
        return {
          bytes,
          digest,
          mediaType: (response.headers["content-type"] ?? "").split(";")[0]?.trim() ?? "",
        };
      }),
    blob: ({ digest, offset, signal }) =>
      tryEach(signal, (endpoint) =>
        send(endpoint, `blobs/${digest}`, {
          headers: offset > 0 ? { range: `bytes=${offset}-` } : {},
          signal,
          accepted: offset > 0 ? [200, 206, 416] : [200],
        }),
      ),
  };
}

interface SendOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly accepted: readonly number[];
}
