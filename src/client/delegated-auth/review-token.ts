import { createHash } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import type { Client } from "../client.ts";
import { createAnswerCache } from "./answer-cache.ts";
import { authenticatedCaller, type Caller } from "./caller.ts";

/** Whose token it is; undefined for one that is no good. Rejects when the API server cannot be asked. */
export type ReviewToken = (token: string) => Promise<Caller | undefined>;

interface TokenReview {
  readonly status?: {
    readonly authenticated?: boolean;
    readonly user?: {
      readonly username?: string;
      readonly uid?: string;
      readonly groups?: readonly string[];
      readonly extra?: Readonly<Record<string, readonly string[]>>;
    };
  };
}

const reviewTimeoutMs = 10_000;

/** Asks the API server by TokenReview. */
export function createTokenReviewer(deps: {
  readonly client: Pick<Client, "request">;
  readonly clock: Clock;
  readonly cacheMs: number;
}): ReviewToken {
  const cache = createAnswerCache<Caller | undefined>({ clock: deps.clock, capacity: 1_000, mostOpen: 50 });

  async function review(token: string): Promise<Caller | undefined> {
    const { status } = await deps.client.request<TokenReview>(
      "POST",
      "/apis/authentication.k8s.io/v1/tokenreviews",
      {
        body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } },
        signal: AbortSignal.timeout(reviewTimeoutMs),
      },
    );
    const { username, uid, groups = [], extra } = status?.user ?? {};
    if (!status?.authenticated || !username) return undefined;
    return authenticatedCaller({ username, groups, ...(uid && { uid }), ...(extra && { extra }) });
  }

  return (token) => {
    // Tokens themselves are not kept.
    const key = createHash("sha256").update(token).digest("base64");
    return cache.get(key, async () => ({ value: await review(token), forMs: deps.cacheMs }));
  };
}
