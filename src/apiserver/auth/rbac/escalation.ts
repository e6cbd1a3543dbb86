import { isDeepStrictEqual } from "node:util";
import { notFound, type StatusError } from "../../../api/meta/status-error.ts";
import { mastersGroup, type UserInfo } from "../../request/user-info.ts";
import { type Authorize, quoteList, refusal, resourceAttributes } from "../attributes.ts";
import { describeRules, uncoveredRules } from "./covers.ts";
import type { RbacAuthorizer } from "./rbac-authorizer.ts";
import {
  type ClusterRole,
  type ClusterRoleBinding,
  type PolicyRule,
  type RbacObject,
  type RbacSource,
  type Role,
  type RoleBinding,
  rbacGroup,
  resolveRole,
} from "./rbac-objects.ts";

export interface EscalationDeps {
  readonly authorize: Authorize;
  readonly rulesFor: RbacAuthorizer["rulesFor"];
  readonly source: RbacSource;
}

export interface RbacWrite<T extends RbacObject> {
  readonly user: UserInfo;
  /** Namespace of the request. Empty for cluster roles and their bindings. */
  readonly namespace: string;
  readonly next: T;
  /** Stored object. Undefined on create. */
  readonly current?: T;
}

const everything: readonly PolicyRule[] = [
  { apiGroups: ["*"], resources: ["*"], verbs: ["*"] },
  { nonResourceURLs: ["*"], verbs: ["*"] },
];

/** Rejects a role with permissions that the user lacks, unless the user may `escalate`. */
export function rejectRole(
  write: RbacWrite<Role | ClusterRole>,
  deps: EscalationDeps,
): StatusError | undefined {
  const { user, namespace, next, current } = write;
  const resource = namespace ? "roles" : "clusterroles";
  const refused = { group: rbacGroup, resource, name: next.metadata.name ?? "" };
  const escalate = resourceAttributes({
    user,
    verb: "escalate",
    apiGroup: rbacGroup,
    resource,
    namespace,
    name: current ? refused.name : "",
  });
  if (isExempt(write) || deps.authorize(escalate).allowed) return undefined;
  const problem = escalationProblem(user, namespace, next.rules ?? [], deps);
  if (problem) return refusal(refused, problem);
  // An aggregated role can select any other role.
  if ([next, current].some(isAggregated) && escalationProblem(user, namespace, everything, deps)) {
    return refusal(refused, "must have cluster-admin privileges to use the aggregationRule");
  }
  return undefined;
}

/** Rejects a binding to a role with permissions that the user lacks, unless the user may `bind` it. */
export function rejectBinding(
  write: RbacWrite<RoleBinding | ClusterRoleBinding>,
  deps: EscalationDeps,
): StatusError | undefined {
  const { user, namespace, next } = write;
  const { apiGroup, kind, name } = next.roleRef;
  const plural = kind === "Role" ? "roles" : "clusterroles";
  const bind = resourceAttributes({ user, verb: "bind", apiGroup, resource: plural, namespace, name });
  if (isExempt(write) || deps.authorize(bind).allowed) return undefined;
  const { rules, problem: missing } = resolveRole(deps.source, next.roleRef, namespace);
  if (missing) return notFound({ group: rbacGroup, plural }, name);
  const problem = escalationProblem(user, namespace, rules, deps);
  const resource = namespace ? "rolebindings" : "clusterrolebindings";
  return problem
    ? refusal({ group: rbacGroup, resource, name: next.metadata.name ?? "" }, problem)
    : undefined;
}

function isExempt({ user, next, current }: RbacWrite<RbacObject>): boolean {
  return (
    user.groups.includes(mastersGroup) || (current !== undefined && differsForCollectorOnly(next, current))
  );
}

/** True if an update only changes owners and finalizers, as the garbage collector does. */
function differsForCollectorOnly(next: RbacObject, current: RbacObject): boolean {
  const { ownerReferences, finalizers, managedFields } = current.metadata;
  const restored = { ...next, metadata: { ...next.metadata, ownerReferences, finalizers, managedFields } };
  return isDeepStrictEqual(plain(restored), plain(current));
}

/** Copies the object without keys whose value is undefined. */
function plain(object: RbacObject): unknown {
  return JSON.parse(JSON.stringify(object));
}

function isAggregated(role: Role | ClusterRole | undefined): boolean {
  return (
    role !== undefined && "aggregationRule" in role && !!role.aggregationRule?.clusterRoleSelectors?.length
  );
}

function escalationProblem(
  user: UserInfo,
  namespace: string,
  wanted: readonly PolicyRule[],
  deps: EscalationDeps,
): string | undefined {
  const { rules, problem } = deps.rulesFor(user, namespace);
  const missing = uncoveredRules(rules, wanted);
  if (!missing)
    return "its rules combine to more permissions than can be checked; write them in several roles";
  if (missing.length === 0) return undefined;
  const who = `user ${JSON.stringify(user.username)} (groups=${quoteList(user.groups)})`;
  const what = `is attempting to grant RBAC permissions not currently held:\n${describeRules(missing)}`;
  return `${who} ${what}${problem && `; resolution errors: [${problem}]`}`;
}
