import type { Clock } from "../../lib/clock.ts";
import { type Answer, textAnswer } from "../../lib/http/answer.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Client } from "../client.ts";
import { authenticate, type Credentials } from "./authenticate.ts";
import { createAccessReviewer } from "./review-access.ts";
import { createTokenReviewer } from "./review-token.ts";

export type Admission =
  | { readonly kind: "allowed" }
  /** Nobody that the cluster knows. */
  | { readonly kind: "unknown" }
  | { readonly kind: "forbidden"; readonly user: string }
  /** The cluster cannot be asked. */
  | { readonly kind: "unavailable" };

export type Refusal = Exclude<Admission, { readonly kind: "allowed" }>;

/** Whether the cluster knows a caller and lets it `get` a path, which is a nonResourceURL in a ClusterRole. */
export type AdmitCaller = (credentials: Credentials, path: string) => Promise<Admission>;

/** As the kubelet does: how long an answer of the API server holds. */
const tokenMs = 120_000;
const allowedMs = 300_000;
const deniedMs = 30_000;

export function createCallerAdmission({
  client,
  clock,
  logger,
}: {
  readonly client: Pick<Client, "request">;
  readonly clock: Clock;
  readonly logger: Logger;
}): AdmitCaller {
  const reviewToken = createTokenReviewer({ client, clock, cacheMs: tokenMs });
  const reviewAccess = createAccessReviewer({ client, clock, allowedMs, deniedMs });

  return async (credentials, path) => {
    try {
      const caller = await authenticate(credentials, { reviewToken, allowAnonymous: false, now: clock.now });
      if (!caller) return { kind: "unknown" };
      const isAllowed = await reviewAccess(caller, { nonResourceAttributes: { verb: "get", path } });
      return isAllowed ? { kind: "allowed" } : { kind: "forbidden", user: caller.username };
    } catch (error) {
      logger.warn("the cluster could not be asked about a caller", { error });
      return { kind: "unavailable" };
    }
  };
}

export function answerRefusal(refusal: Refusal, path: string): Answer {
  switch (refusal.kind) {
    case "unknown":
      return textAnswer(401, "Unauthorized", { "www-authenticate": "Bearer" });
    case "forbidden":
      return textAnswer(403, `${JSON.stringify(refusal.user)} may not get ${path}`);
    case "unavailable":
      return textAnswer(503, "The cluster cannot be asked who you are.", { "retry-after": "5" });
  }
}
