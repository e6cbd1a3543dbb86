import type * as k8s from "@kubernetes/client-node";
import { formatTime } from "../../../api/format-time.ts";
import type { Wire } from "../../../api/objects.ts";
import { badRequest } from "../../../api/status-error.ts";
import type { AuthenticateToken } from "../token/authenticate-token.ts";
import type { UserInfo } from "../user-info.ts";

export type SelfSubjectReview = Wire<k8s.V1SelfSubjectReview>;
export type TokenReview = Wire<k8s.V1TokenReview>;

const apiVersion = "authentication.k8s.io/v1";

/** `kubectl auth whoami`. */
export function reviewSelf(user: UserInfo, now: number): SelfSubjectReview {
  return {
    kind: "SelfSubjectReview",
    apiVersion,
    metadata: { creationTimestamp: formatTime(now) },
    status: { userInfo: userInfo(user) },
  };
}

export interface TokenReviewDeps {
  readonly authenticateToken: AuthenticateToken;
  readonly apiAudiences: readonly string[];
}

/** Whose token is this, and may I accept it? Asked by servers that get tokens and cannot tell. */
export async function reviewToken(review: TokenReview, deps: TokenReviewDeps): Promise<TokenReview> {
  const { token, audiences = [] } = review.spec;
  if (!token) throw badRequest("token is required for TokenReview in authentication");
  const verdict = await deps.authenticateToken(token, audiences.length > 0 ? audiences : deps.apiAudiences);
  const status =
    verdict.kind === "user"
      ? { authenticated: true, user: userInfo(verdict.user), audiences: [...verdict.audiences] }
      : { user: {}, error: verdict.reason };
  return { ...review, kind: "TokenReview", apiVersion, metadata: review.metadata ?? {}, status };
}

function userInfo({ username, uid, groups, extra }: UserInfo): Wire<k8s.V1UserInfo> {
  const entries = Object.entries(extra).map(([key, values]) => [key, [...values]]);
  return {
    username,
    ...(uid && { uid }),
    groups: [...groups],
    ...(entries.length > 0 && { extra: Object.fromEntries(entries) }),
  };
}
