import { serviceAccountUsername, type UserInfo } from "../../request/user-info.ts";
import type { Attributes, Decision } from "../attributes.ts";
import {
  type ClusterRoleBinding,
  type PolicyRule,
  type RbacSource,
  type ResolvedRole,
  type RoleBinding,
  resolveRole,
  type Subject,
} from "./rbac-objects.ts";
import { ruleFits } from "./rule-allows.ts";

export interface RbacAuthorizer {
  authorize(attributes: Attributes): Decision;
  /** Rules that apply to a user in a namespace, or cluster-wide for the empty namespace. */
  rulesFor(user: UserInfo, namespace: string): UserRules;
  /** Must be called after each change of a role or binding in the namespace, or without one after a cluster-wide change. */
  changed(namespace?: string): void;
}

interface UserRules {
  readonly rules: readonly PolicyRule[];
  /** Describes bindings to roles that do not exist. Empty if there are none. */
  readonly problem: string;
}

/** Cached decision for one verb on one resource. Object names with a different decision are listed separately. */
interface CachedDecision {
  readonly decision: Decision;
  readonly byName: ReadonlyMap<string, Decision>;
}

/** Maximum number of cached decisions. The cache is cleared when it is full. */
const maxDecisions = 100_000;

export function createRbacAuthorizer(source: RbacSource): RbacAuthorizer {
  const indexes = new Map<string, SubjectIndex>();
  let decisions = new WeakMap<UserInfo, Map<string, CachedDecision>>();
  let decisionCount = 0;

  return {
    authorize(attributes) {
      let known = decisions.get(attributes.user);
      if (!known) {
        known = new Map();
        decisions.set(attributes.user, known);
      }
      const key = keyOf(attributes);
      let cached = known.get(key);
      if (!cached) {
        cached = decide(grantsOf(attributes.user, attributes.namespace), attributes);
        known.set(key, cached);
        if (++decisionCount > maxDecisions) clearDecisions();
      }
      return cached.byName.get(attributes.name) ?? cached.decision;
    },
    rulesFor(user, namespace) {
      const grants = grantsOf(user, namespace);
      return { rules: grants.flatMap((grant) => grant.rules), problem: problemOf(grants) };
    },
    changed(namespace) {
      clearDecisions();
      // Bindings in a namespace may refer to cluster roles.
      if (namespace) indexes.delete(namespace);
      else indexes.clear();
    },
  };

  function clearDecisions(): void {
    decisions = new WeakMap();
    decisionCount = 0;
  }

  function grantsOf(user: UserInfo, namespace: string): Grant[] {
    const clusterWide = indexOf("").grantsOf(user);
    return namespace ? [...clusterWide, ...indexOf(namespace).grantsOf(user)] : clusterWide;
  }

  function indexOf(namespace: string): SubjectIndex {
    let index = indexes.get(namespace);
    if (!index) {
      index = indexBindings(source, namespace);
      // Not cached, because clients can request any number of namespaces that have no bindings.
      if (index.size > 0) indexes.set(namespace, index);
    }
    return index;
  }
}

/** Cache key of a check. Lengths come first, so that different attributes never have the same key. */
function keyOf(attributes: Attributes): string {
  const { verb, path, namespace, apiGroup, resource, subresource } = attributes;
  if (!attributes.isResourceRequest) return `${verb.length}/${verb}${path}`;
  const lengths = `${verb.length},${namespace.length},${apiGroup.length},${resource.length}:`;
  return `${lengths}${verb}${namespace}${apiGroup}${resource}${subresource}`;
}

function decide(grants: readonly Grant[], attributes: Attributes): CachedDecision {
  const byName = new Map<string, Decision>();
  for (const { rules, reason } of grants) {
    const decision = { allowed: true, reason };
    for (const rule of rules) {
      if (!ruleFits(rule, attributes)) continue;
      if (!attributes.isResourceRequest || !rule.resourceNames?.length) return { decision, byName };
      for (const name of rule.resourceNames) byName.set(name, decision);
    }
  }
  const problem = problemOf(grants);
  return { decision: { allowed: false, reason: problem && `RBAC: ${problem}` }, byName };
}

function problemOf(grants: readonly Grant[]): string {
  const problems = [...new Set(grants.flatMap((grant) => grant.problem ?? []))];
  return problems.length > 1 ? `[${problems.join(", ")}]` : (problems[0] ?? "");
}

/** Rules that one binding grants to one of its subjects. */
interface Grant extends ResolvedRole {
  readonly binding: RoleBinding | ClusterRoleBinding;
  /** Reason that is returned when one of the rules allows a request. */
  readonly reason: string;
}

/** Bindings by subject, so that a request only checks those of its user. */
interface SubjectIndex {
  /** Number of subjects that have bindings. */
  readonly size: number;
  grantsOf(user: UserInfo): Grant[];
}

/** Indexes the bindings of a namespace, or the cluster role bindings for the empty namespace. */
function indexBindings(source: RbacSource, namespace: string): SubjectIndex {
  const users = new Map<string, Grant[]>();
  const groups = new Map<string, Grant[]>();
  for (const binding of namespace ? source.roleBindings(namespace) : source.clusterRoleBindings()) {
    const resolved = resolveRole(source, binding.roleRef, namespace);
    for (const subject of binding.subjects ?? []) {
      const grant = { binding, ...resolved, reason: describe(binding, subject, namespace) };
      if (subject.kind === "Group") append(groups, subject.name, grant);
      if (subject.kind === "User") append(users, subject.name, grant);
      const accountNamespace = subject.namespace || namespace;
      if (subject.kind === "ServiceAccount" && accountNamespace) {
        append(users, serviceAccountUsername(accountNamespace, subject.name), grant);
      }
    }
  }
  return {
    size: users.size + groups.size,
    grantsOf({ username, groups: memberOf }) {
      const grants = new Map<Grant["binding"], Grant>();
      for (const grant of users.get(username) ?? []) grants.set(grant.binding, grant);
      for (const group of memberOf) {
        for (const grant of groups.get(group) ?? []) grants.set(grant.binding, grant);
      }
      return [...grants.values()];
    },
  };
}

function append(index: Map<string, Grant[]>, key: string, grant: Grant): void {
  const list = index.get(key);
  if (list) list.push(grant);
  else index.set(key, [grant]);
}

function describe(binding: Grant["binding"], subject: Subject, namespace: string): string {
  const { roleRef, metadata } = binding;
  const name = JSON.stringify(namespace ? `${metadata.name}/${namespace}` : metadata.name);
  const kind = namespace ? "RoleBinding" : "ClusterRoleBinding";
  const who =
    subject.kind === "ServiceAccount" ? `${subject.name}/${subject.namespace || namespace}` : subject.name;
  const role = `${roleRef.kind} ${JSON.stringify(roleRef.name)}`;
  return `RBAC: allowed by ${kind} ${name} of ${role} to ${subject.kind} ${JSON.stringify(who)}`;
}
