import type { Clock } from "../../lib/clock.ts";
import { type HttpResponse, textResponse } from "../../lib/http/http-exchange.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Client } from "../api/client.ts";
import { authenticate, type Credentials, createAccessReviewer, createTokenReviewer } from "./authenticate.ts";

/** Result of authentication and authorization. */
export type AuthorizationResult =
  | { readonly kind: "allowed" }
  | { readonly kind: "unauthenticated" }
  | { readonly kind: "forbidden"; readonly user: string }
  /** The API server cannot be reached. */
  | { readonly kind: "unavailable" };

export type AuthorizationFailure = Exclude<AuthorizationResult, { readonly kind: "allowed" }>;

/** Authenticates a caller and authorizes `get` on a non-resource URL by TokenReview and SubjectAccessReview. */
export type AuthenticateAndAuthorize = (
  credentials: Credentials,
  path: string,
) => Promise<AuthorizationResult>;

/** Cache durations of review results, as in the kubelet. */
const tokenMs = 120_000;
const allowedMs = 300_000;
const deniedMs = 30_000;

export function createCallerAuthorizer({
  client,
  clock,
  logger,
}: {
  readonly client: Pick<Client, "request">;
  readonly clock: Clock;
  readonly logger: Logger;
}): AuthenticateAndAuthorize {
  const reviewToken = createTokenReviewer({ client, clock, cacheMs: tokenMs });
  const reviewAccess = createAccessReviewer({ client, clock, allowedMs, deniedMs });

  return async (credentials, path) => {
    try {
      const caller = await authenticate(credentials, { reviewToken, allowAnonymous: false, now: clock.now });
      if (!caller) return { kind: "unauthenticated" };
      const isAllowed = await reviewAccess(caller, { nonResourceAttributes: { verb: "get", path } });
      return isAllowed ? { kind: "allowed" } : { kind: "forbidden", user: caller.username };
    } catch (error) {
      logger.warn("failed to authenticate a request with the API server", { error });
      return { kind: "unavailable" };
    }
  };
}

export function authorizationFailureResponse(failure: AuthorizationFailure, path: string): HttpResponse {
  switch (failure.kind) {
    case "unauthenticated":
      return textResponse(401, "Unauthorized", { "www-authenticate": "Bearer" });
    case "forbidden":
      return textResponse(403, `${JSON.stringify(failure.user)} may not get ${path}`);
    case "unavailable":
      return textResponse(503, "The API server cannot be reached for authentication; try again later.", {
        "retry-after": "5",
      });
  }
}
