import type { Client } from "./client.ts";

export interface ServiceAccountKey {
  readonly namespace: string;
  readonly name: string;
}

/** Properties of the requested token; the server has defaults. */
interface TokenRequestSpec {
  readonly audiences?: readonly string[];
  readonly expirationSeconds?: number;
  readonly boundObjectRef?: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name?: string;
    readonly uid?: string;
  };
}

export interface IssuedToken {
  readonly token: string;
  readonly expiresAtMs: number;
  readonly lifetimeMs: number;
}

/** Part of the TokenRequest response that is used. */
interface TokenResponse {
  readonly spec?: { readonly expirationSeconds?: number };
  readonly status?: { readonly token?: string; readonly expirationTimestamp?: string };
}

/** Requests a token for a service account. */
export async function requestToken(
  client: Client,
  { namespace, name }: ServiceAccountKey,
  { spec, signal }: { readonly spec: TokenRequestSpec; readonly signal: AbortSignal },
): Promise<IssuedToken> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/serviceaccounts/${encodeURIComponent(name)}/token`;
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", metadata: {}, spec };
  const response = await client.request<TokenResponse>("POST", path, { signal, body });
  const expiresAtMs = Date.parse(response.status?.expirationTimestamp ?? "");
  if (!response.status?.token || Number.isNaN(expiresAtMs))
    throw new Error("the API server returned no token");
  const seconds = response.spec?.expirationSeconds ?? spec.expirationSeconds ?? 3_600;
  return { token: response.status.token, expiresAtMs, lifetimeMs: seconds * 1_000 };
}
