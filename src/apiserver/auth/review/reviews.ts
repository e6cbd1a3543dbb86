import type * as k8s from "@kubernetes/client-node";
import type { KubeObject, Wire } from "../../../api/meta/objects.ts";
import { badRequest, methodNotAllowed } from "../../../api/meta/status-error.ts";
import { formatTime } from "../../../api/meta/time.ts";
import { builtInSchema } from "../../../api/schema/built-in-schema.ts";
import { decodeBody } from "../../../api/schema/decode-body.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { ApiRequest, ApiResponse } from "../../request/api-request.ts";
import { bodyAsJson } from "../../request/body-as-json.ts";
import type { ResourceRequest } from "../../request/request-info.ts";
import { nodeNameOf, type UserInfo } from "../../request/user-info.ts";
import type { Authorize } from "../attributes.ts";
import type { RbacAuthorizer } from "../rbac/rbac-authorizer.ts";
import type { AuthenticateToken } from "../token/authenticate-token.ts";
import {
  type LocalSubjectAccessReview,
  reviewLocalSubjectAccess,
  reviewSelfAccess,
  reviewSubjectAccess,
  type SelfSubjectAccessReview,
  type SubjectAccessReview,
} from "./access-review.ts";

interface ReviewDeps extends TokenReviewDeps {
  readonly authorize: Authorize;
  readonly rbac: RbacAuthorizer;
  readonly clock: Clock;
}

interface Review {
  readonly kind: string;
  answer(object: unknown, request: ApiRequest, info: ResourceRequest): unknown;
}

/** Handlers of reviews: objects that are posted and answered, and never stored. Undefined for other requests. */
export function createReviews(
  deps: ReviewDeps,
): (request: ApiRequest, info: ResourceRequest) => (() => Promise<ApiResponse>) | undefined {
  const { authorize } = deps;
  // The objects were decoded as these kinds just before.
  const reviews: Readonly<Record<string, Review>> = {
    "authorization.k8s.io/selfsubjectaccessreviews": {
      kind: "SelfSubjectAccessReview",
      answer: (object, { user }) => reviewSelfAccess(object as SelfSubjectAccessReview, user, authorize),
    },
    "authorization.k8s.io/subjectaccessreviews": {
      kind: "SubjectAccessReview",
      answer: (object) => reviewSubjectAccess(object as SubjectAccessReview, authorize),
    },
    "authorization.k8s.io/localsubjectaccessreviews": {
      kind: "LocalSubjectAccessReview",
      answer: (object, _, { namespace }) =>
        reviewLocalSubjectAccess(object as LocalSubjectAccessReview, namespace, authorize),
    },
    "authorization.k8s.io/selfsubjectrulesreviews": {
      kind: "SelfSubjectRulesReview",
      answer: (object, { user }) =>
        reviewSelfRules(object as SelfSubjectRulesReview, user, deps.rbac.rulesFor),
    },
    "authentication.k8s.io/selfsubjectreviews": {
      kind: "SelfSubjectReview",
      answer: (_, { user }) => reviewSelf(user, deps.clock.now()),
    },
    "authentication.k8s.io/tokenreviews": {
      kind: "TokenReview",
      answer: (object) => reviewToken(object as TokenReview, deps),
    },
  };

  return (request, info) => {
    const review = info.version === "v1" ? reviews[`${info.group}/${info.plural}`] : undefined;
    if (!review || info.name) return undefined;
    return () => answerReview(review, request, info);
  };
}

async function answerReview(
  review: Review,
  request: ApiRequest,
  info: ResourceRequest,
): Promise<ApiResponse> {
  const { group, version } = info;
  if (info.verb !== "create") throw methodNotAllowed();
  const text = await bodyAsJson(await request.readBody(), request.headers["content-type"], builtInSchema);
  const { object, warnings } = decodeBody(builtInSchema, { group, version, kind: review.kind }, text, {
    fieldValidation: "Warn",
  });
  const answered = await review.answer(object, request, info);
  return { kind: "object", status: 201, object: answered as KubeObject, warnings };
}

type SelfSubjectReview = Wire<k8s.V1SelfSubjectReview>;
type TokenReview = Wire<k8s.V1TokenReview>;

const apiVersion = "authentication.k8s.io/v1";

/** SelfSubjectReview (`kubectl auth whoami`). */
export function reviewSelf(user: UserInfo, now: number): SelfSubjectReview {
  return {
    kind: "SelfSubjectReview",
    apiVersion,
    metadata: { creationTimestamp: formatTime(now) },
    status: { userInfo: userInfo(user) },
  };
}

interface TokenReviewDeps {
  readonly authenticateToken: AuthenticateToken;
  readonly apiAudiences: readonly string[];
}

/** TokenReview: the user of a token, for servers that receive tokens. */
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

type SelfSubjectRulesReview = Wire<k8s.V1SelfSubjectRulesReview>;

/** SelfSubjectRulesReview (`kubectl auth can-i --list`): all rules of the user in a namespace. */
export function reviewSelfRules(
  review: SelfSubjectRulesReview,
  user: UserInfo,
  rulesFor: RbacAuthorizer["rulesFor"],
): SelfSubjectRulesReview {
  const { namespace } = review.spec;
  if (!namespace) throw badRequest("no namespace on request");
  const { rules, problem } = rulesFor(user, namespace);
  // Decisions of the node authorizer cannot be expressed as rules.
  const isNode = nodeNameOf(user) !== undefined;
  const problems = [isNode && "node authorizer does not support user rule resolution", problem].filter(
    Boolean,
  );
  const evaluationError = problems.length > 1 ? `[${problems.join(", ")}]` : problems.join("");
  return {
    kind: "SelfSubjectRulesReview",
    apiVersion: "authorization.k8s.io/v1",
    metadata: {},
    spec: {},
    status: {
      resourceRules: rules.flatMap(({ verbs, apiGroups, resources, resourceNames }) =>
        resources?.length ? [{ verbs, apiGroups, resources, resourceNames }] : [],
      ),
      nonResourceRules: rules.flatMap(({ verbs, nonResourceURLs }) =>
        nonResourceURLs?.length ? [{ verbs, nonResourceURLs }] : [],
      ),
      incomplete: isNode,
      ...(evaluationError && { evaluationError }),
    },
  };
}
