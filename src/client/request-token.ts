import type { Client } from "./client.ts";

export interface ServiceAccountKey {
  readonly namespace: string;
  readonly name: string;
}

/** What is asked of the token; the server has defaults. */
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

/** What of the answer is used. */
interface TokenAnswer {
  readonly spec?: { readonly expirationSeconds?: number };
  readonly status?: { readonly token?: string; readonly expirationTimestamp?: string };
}

/** A token of a service account. */
export async function requestToken(
  client: Client,
  { namespace, name }: ServiceAccountKey,
  { spec, signal }: { readonly spec: TokenRequestSpec; readonly signal: AbortSignal },
): Promise<IssuedToken> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/serviceaccounts/${encodeURIComponent(name)}/token`;
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", metadata: {}, spec };
  const answer = await client.request<TokenAnswer>("POST", path, { signal, body });
  const expiresAtMs = Date.parse(answer.status?.expirationTimestamp ?? "");
  if (!answer.status?.token || Number.isNaN(expiresAtMs)) throw new Error("the API answered without a token");
  const seconds = answer.spec?.expirationSeconds ?? spec.expirationSeconds ?? 3_600;
  return { token: answer.status.token, expiresAtMs, lifetimeMs: seconds * 1_000 };
}
