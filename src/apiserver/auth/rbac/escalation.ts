import { isDeepStrictEqual } from "node:util";
import { notFound, type StatusError } from "../../../api/status-error.ts";
import { type Authorize, resourceAttributes } from "../attributes.ts";
import { refusal } from "../forbidden.ts";
import { quoteList } from "../quote-list.ts";
import { mastersGroup, type UserInfo } from "../user-info.ts";
import { describeRules, uncoveredRules } from "./covers.ts";
import {
  type ClusterRole,
  type ClusterRoleBinding,
  type PolicyRule,
  type RbacObject,
  type RbacSource,
  type Role,
  type RoleBinding,
  rbacGroup,
} from "./objects.ts";
import type { RbacAuthorizer } from "./rbac-authorizer.ts";
import { resolveRole } from "./resolve-role.ts";

export interface EscalationDeps {
  readonly authorize: Authorize;
  readonly rulesFor: RbacAuthorizer["rulesFor"];
  readonly source: RbacSource;
}

export interface RbacWrite<T extends RbacObject> {
  readonly user: UserInfo;
  /** Of the request; empty for cluster roles and their bindings. */
  readonly namespace: string;
  readonly next: T;
  /** Missing on create. */
  readonly current?: T;
}

const everything: readonly PolicyRule[] = [
  { apiGroups: ["*"], resources: ["*"], verbs: ["*"] },
  { nonResourceURLs: ["*"], verbs: ["*"] },
];

/** Nobody writes a role that allows more than they may do themselves, unless they may `escalate`. */
export function refuseRole(
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
  // Such a role can gather anything.
  if ([next, current].some(isAggregated) && escalationProblem(user, namespace, everything, deps)) {
    return refusal(refused, "must have cluster-admin privileges to use the aggregationRule");
  }
  return undefined;
}

/** Nobody binds a role that allows more than they may do themselves, unless they may `bind` it. */
export function refuseBinding(
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

/** The garbage collector takes away owners and finalizers, whatever the rest of the object allows. */
function differsForCollectorOnly(next: RbacObject, current: RbacObject): boolean {
  const { ownerReferences, finalizers, managedFields } = current.metadata;
  const restored = { ...next, metadata: { ...next.metadata, ownerReferences, finalizers, managedFields } };
  return isDeepStrictEqual(plain(restored), plain(current));
}

/** Without the keys that are there but undefined. */
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
