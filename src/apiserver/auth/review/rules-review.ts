import type * as k8s from "@kubernetes/client-node";
import type { Wire } from "../../../api/objects.ts";
import { badRequest } from "../../../api/status-error.ts";
import type { RbacAuthorizer } from "../rbac/rbac-authorizer.ts";
import { nodeNameOf, type UserInfo } from "../user-info.ts";

export type SelfSubjectRulesReview = Wire<k8s.V1SelfSubjectRulesReview>;

/** `kubectl auth can-i --list`: all that the one who asks may do in a namespace. */
export function reviewSelfRules(
  review: SelfSubjectRulesReview,
  user: UserInfo,
  rulesFor: RbacAuthorizer["rulesFor"],
): SelfSubjectRulesReview {
  const { namespace } = review.spec;
  if (!namespace) throw badRequest("no namespace on request");
  const { rules, problem } = rulesFor(user, namespace);
  // What the node authorizer allows cannot be written as rules.
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
