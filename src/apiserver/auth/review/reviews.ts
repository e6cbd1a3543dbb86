import type { KubeObject } from "../../../api/objects.ts";
import { decodeBody } from "../../../api/schema/decode-body.ts";
import { methodNotAllowed } from "../../../api/status-error.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Answer, ApiRequest } from "../../api-request.ts";
import { bodyAsJson } from "../../representation/body-as-json.ts";
import type { ResourceRequest } from "../../request-info.ts";
import type { Authorize } from "../attributes.ts";
import type { RbacAuthorizer } from "../rbac/rbac-authorizer.ts";
import {
  type LocalSubjectAccessReview,
  reviewLocalSubjectAccess,
  reviewSelfAccess,
  reviewSubjectAccess,
  type SelfSubjectAccessReview,
  type SubjectAccessReview,
} from "./access-review.ts";
import { reviewSelf, reviewToken, type TokenReview, type TokenReviewDeps } from "./identity-review.ts";
import { reviewSelfRules, type SelfSubjectRulesReview } from "./rules-review.ts";

interface ReviewDeps extends TokenReviewDeps {
  readonly authorize: Authorize;
  readonly rbac: RbacAuthorizer;
  readonly clock: Clock;
}

interface Review {
  readonly kind: string;
  answer(object: unknown, request: ApiRequest, info: ResourceRequest): unknown;
}

/** Questions to the server in the form of objects: they are posted, answered and never stored. */
export function createReviews(
  deps: ReviewDeps,
): (request: ApiRequest, info: ResourceRequest) => Promise<Answer> | undefined {
  const { authorize } = deps;
  // What each is given was decoded as its own kind just before.
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
    return answerReview(review, request, info);
  };
}

async function answerReview(review: Review, request: ApiRequest, info: ResourceRequest): Promise<Answer> {
  const { group, version } = info;
  if (info.verb !== "create") throw methodNotAllowed();
  const text = await bodyAsJson(await request.readBody(), request.headers["content-type"]);
  const { object, warnings } = decodeBody({ group, version, kind: review.kind }, text, {
    fieldValidation: "Warn",
  });
  const answered = await review.answer(object, request, info);
  return { kind: "object", status: 201, object: answered as KubeObject, warnings };
}
