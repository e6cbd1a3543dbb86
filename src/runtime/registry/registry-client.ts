import { type ImageName, repositoryName } from "../../lib/image/image-name.ts";
import { digestOf } from "../content/content-store.ts";
import { ImageError, isTransient } from "../errors/image-error.ts";
import type { Credential, Endpoint } from "./credentials.ts";
import { manifestAccept } from "./manifest.ts";
import { basicHeader, fetchToken, parseChallenge } from "./token.ts";
import { discard, type HttpResponse, readBody, type Transport } from "./transport.ts";

export interface RegistryClientOptions {
  readonly transport: Transport;
  readonly reference: ImageName;
  /** Endpoints in the order to try. */
  readonly endpoints: readonly Endpoint[];
  readonly credentialFor: (host: string) => Credential;
}

export interface ClientRequest {
  readonly signal: AbortSignal;
  /** Called for each response, including those of the token server. */
  readonly onActivity: () => void;
}

interface FetchedManifest {
  readonly bytes: Buffer;
  readonly mediaType: string;
  readonly digest: string;
}

/** Client for one repository of a registry and its mirrors. */
export interface RegistryClient {
  manifest(tagOrDigest: string, request: ClientRequest): Promise<FetchedManifest>;
  /** Requests a blob. Status 200 from the start, 206 from `offset`, 416 when `offset` is out of range. */
  blob(request: ClientRequest & { digest: string; offset: number }): Promise<HttpResponse>;
  /** Makes the next requests use new connections. */
  reconnect(): void;
}

const maxManifestBytes = 8 << 20;

export function createRegistryClient(options: RegistryClientOptions): RegistryClient {
  const { transport, reference, endpoints, credentialFor } = options;
  const authorizations = new Map<string, string>();
  // The endpoint that served the manifest is tried first for blobs.
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
      request.onActivity();
      if (request.accepted.includes(response.status)) return response;
      discard(response);
      if (response.status !== 401 || attempt > 0) throw statusError(endpoint, path, response);
      const header = await authorize(endpoint, credential, response, request);
      if (!header) throw statusError(endpoint, path, response);
      authorizations.set(key, header);
    }
  }

  async function authorize(
    endpoint: Endpoint,
    credential: Credential,
    response: HttpResponse,
    { signal, onActivity }: ClientRequest,
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

  /**
   * Returns the first successful response. When every endpoint fails, throws the last error, preferring transient ones.
   */
  async function tryEach<T>(signal: AbortSignal, attempt: (endpoint: Endpoint) => Promise<T>): Promise<T> {
    const ordered = preferred ? [preferred, ...endpoints.filter((other) => other !== preferred)] : endpoints;
    let failure: unknown;
    for (const endpoint of ordered) {
      try {
        const response = await attempt(endpoint);
        preferred = endpoint;
        return response;
      } catch (error) {
        signal.throwIfAborted();
        // A transient error of the registry outweighs a mirror's "not found", because a retry may succeed.
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
      return new ImageError("unauthorized", `${host} rejects ${what}: ${hint}`);
    }
    if (status === 429 || status >= 500) {
      const retryAfterMs = Math.min(60, Number(response.headers["retry-after"]) || 0) * 1_000;
      return new ImageError("network", `${host} responds with status ${status} to ${what}; try again later`, {
        retryAfterMs,
      });
    }
    return new ImageError("unsupported", `${host} responds with status ${status} to ${what}`);
  }

  return {
    manifest: (tagOrDigest, request) =>
      tryEach(request.signal, async (endpoint) => {
        const headers = { accept: manifestAccept };
        const response = await send(endpoint, `manifests/${tagOrDigest}`, {
          ...request,
          headers,
          accepted: [200],
        });
        const bytes = await readBody(response, maxManifestBytes);
        request.onActivity();
        const digest = digestOf(bytes);
        if (tagOrDigest.includes(":") && tagOrDigest !== digest) {
          throw new ImageError(
            "digestMismatch",
            `${endpoint.host} sent a manifest with digest ${digest} for ${tagOrDigest}`,
          );
        }
        return {
          bytes,
          digest,
          mediaType: (response.headers["content-type"] ?? "").split(";")[0]?.trim() ?? "",
        };
      }),
    blob: ({ digest, offset, ...request }) =>
      tryEach(request.signal, (endpoint) =>
        send(endpoint, `blobs/${digest}`, {
          ...request,
          headers: offset > 0 ? { range: `bytes=${offset}-` } : {},
          accepted: offset > 0 ? [200, 206, 416] : [200],
        }),
      ),
    reconnect: () => transport.closeIdle(),
  };
}

interface SendOptions extends ClientRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly accepted: readonly number[];
}
