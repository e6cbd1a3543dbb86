import type { Pod } from "../../api/meta/objects.ts";
import type { Client } from "../../client/api/client.ts";
import { type IssuedToken, requestToken } from "../../client/api/request-token.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { messageOf } from "../../lib/message-of.ts";

interface TokenRequest {
  readonly audience?: string;
  readonly expirationSeconds?: number;
}

/** Service account tokens, each bound to its pod. */
export interface ServiceAccountTokens {
  /** Returns the cached token, or a new one if it is due for renewal. */
  get(pod: Pod, request: TokenRequest, signal: AbortSignal): Promise<string>;
  /** Lists UIDs of pods with a token that is due for renewal. */
  due(): readonly string[];
  /** Removes the tokens of a deleted pod. */
  forget(podUid: string): void;
}

const dayMs = 24 * 60 * 60 * 1_000;

/** Returns when a token is renewed: after 80 % of its lifetime, at most a day. */
export function refreshAtMs({ expiresAtMs, lifetimeMs }: Omit<IssuedToken, "token">): number {
  const issuedAtMs = expiresAtMs - lifetimeMs;
  return issuedAtMs + Math.min(lifetimeMs * 0.8, dayMs);
}

interface TokensOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createServiceAccountTokens({ client, clock, logger }: TokensOptions): ServiceAccountTokens {
  /** Tokens by pod UID and request. In memory only; a restarted kubelet requests new ones. */
  const tokens = new Map<string, Map<string, IssuedToken>>();

  return {
    async get(pod, request, signal) {
      const uid = pod.metadata.uid ?? "";
      const key = JSON.stringify([request.audience ?? "", request.expirationSeconds ?? 0]);
      const held = tokens.get(uid)?.get(key);
      if (held && clock.now() < refreshAtMs(held)) return held.token;
      try {
        const issued = await requestPodToken(client, pod, request, signal);
        tokens.set(uid, new Map(tokens.get(uid)).set(key, issued));
        return issued.token;
      } catch (error) {
        signal.throwIfAborted();
        const why = messageOf(error);
        if (!held) throw new Error(`failed to fetch token: ${why}`, { cause: error });
        if (clock.now() >= held.expiresAtMs) throw new Error(`token expired and refresh failed: ${why}`);
        logger.warn("failed to renew a service account token", { pod: pod.metadata.name, error });
        return held.token;
      }
    },
    due() {
      const now = clock.now();
      const isDue = (issued: IssuedToken) => now >= refreshAtMs(issued);
      return [...tokens].filter(([, ofPod]) => [...ofPod.values()].some(isDue)).map(([uid]) => uid);
    },
    forget: (podUid) => void tokens.delete(podUid),
  };
}

function requestPodToken(
  client: Client,
  pod: Pod,
  { audience, expirationSeconds }: TokenRequest,
  signal: AbortSignal,
): Promise<IssuedToken> {
  const { namespace = "", name, uid } = pod.metadata;
  const account = { namespace, name: pod.spec?.serviceAccountName || "default" };
  const spec = {
    audiences: audience ? [audience] : [],
    expirationSeconds,
    boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid },
  };
  return requestToken(client, account, { spec, signal });
}
