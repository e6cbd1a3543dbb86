import { isDeepStrictEqual } from "node:util";
import {
  authenticatedGroup,
  dnsUser,
  kubeletClientUser,
  localVolumesUser,
  mastersGroup,
  monitorUser,
  networkPolicyUser,
  nodesGroup,
  unauthenticatedGroup,
} from "../../request/user-info.ts";
import { reaggregate } from "../rbac/aggregate.ts";
import { uncoveredRules } from "../rbac/covers.ts";
import {
  type ClusterRole,
  type ClusterRoleBinding,
  type PolicyRule,
  type RbacObject,
  type Role,
  type RoleBinding,
  rbacGroup,
  type Subject,
} from "../rbac/rbac-objects.ts";
import { clusterUidReader, componentRoles } from "./component-roles.ts";
import { controllerRoles } from "./controller-roles.ts";
import { group, serviceAccount, user } from "./rule.ts";
import { aggregatedRoles, aggregateTo, namespaceRoles, userRoles } from "./user-roles.ts";

/** Subjects of the default cluster role bindings. Each binding has the name of its role. */
const clusterRoleSubjects: Readonly<Record<string, readonly Subject[]>> = {
  "cluster-admin": [group(mastersGroup)],
  "system:monitoring": [group("system:monitoring")],
  "system:discovery": [group(authenticatedGroup)],
  "system:basic-user": [group(authenticatedGroup)],
  "system:public-info-viewer": [group(authenticatedGroup), group(unauthenticatedGroup)],
  "system:node-proxier": [user("system:kube-proxy")],
  "system:kube-controller-manager": [user("system:kube-controller-manager")],
  "system:kube-dns": [serviceAccount("kube-dns")],
  "system:kube-scheduler": [user("system:kube-scheduler")],
  "system:volume-scheduler": [user("system:kube-scheduler")],
  "system:service-account-issuer-discovery": [group("system:serviceaccounts")],
  // Not in upstream, where the installer of a cluster chooses the identity.
  "system:kubelet-api-admin": [user(kubeletClientUser)],
  [dnsUser]: [user(dnsUser)],
  [monitorUser]: [user(monitorUser)],
  [networkPolicyUser]: [user(networkPolicyUser)],
  [localVolumesUser]: [user(localVolumesUser)],
  [clusterUidReader]: [group(nodesGroup)],
  // No subjects: nodes are authorized by the node authorizer. Upstream keeps the empty binding.
  "system:node": [],
};

/**
 * Default roles and bindings: those of upstream 1.36 with its default feature gates, and those of Kindling's
 * components.
 */
export function bootstrapPolicyObjects(): RbacObject[] {
  const controllers = Object.entries(controllerRoles).map(
    ([name, rules]) => [`system:controller:${name}`, name, rules] as const,
  );
  const plainRoles = Object.entries({ ...userRoles, ...componentRoles }).map(([name, rules]) =>
    clusterRole(name, rules),
  );
  const gathering = aggregatedRoles.map((name) => ({
    ...clusterRole(name, []),
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [aggregateLabel(name)]: "true" } }] },
  }));
  return [
    ...plainRoles,
    // Aggregated here already, so that `view` and the others work from the first request on.
    ...reaggregate([...plainRoles, ...gathering]),
    ...controllers.map(([roleName, , rules]) => clusterRole(roleName, rules)),
    ...Object.entries(clusterRoleSubjects).map(([name, subjects]) => clusterRoleBinding(name, subjects)),
    ...controllers.map(([roleName, account]) => clusterRoleBinding(roleName, [serviceAccount(account)])),
    ...namespaceRoles.flatMap(({ namespace, name, rules, subjects, bindingName = name }) => [
      { ...object("Role", { name, namespace }), rules: [...rules] },
      { ...object("RoleBinding", { name: bindingName, namespace }), ...binding("Role", name, subjects) },
    ]),
  ];
}

function clusterRole(name: string, rules: readonly PolicyRule[]): ClusterRole {
  const gatherer = Object.hasOwn(aggregateTo, name) ? aggregateTo[name] : undefined;
  const labels = gatherer ? { [aggregateLabel(gatherer)]: "true" } : {};
  return { ...object("ClusterRole", { name, labels }), rules: [...rules] };
}

function clusterRoleBinding(roleName: string, subjects: readonly Subject[]): RbacObject {
  return {
    ...object("ClusterRoleBinding", { name: roleName }),
    ...binding("ClusterRole", roleName, subjects),
  };
}

function binding(kind: "ClusterRole" | "Role", name: string, subjects: readonly Subject[]) {
  return {
    roleRef: { apiGroup: rbacGroup, kind, name },
    ...(subjects.length > 0 && { subjects: [...subjects] }),
  };
}

interface Named {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

function object(kind: string, { labels, ...named }: Named) {
  return {
    apiVersion: `${rbacGroup}/v1`,
    kind,
    metadata: {
      ...named,
      labels: { ...labels, "kubernetes.io/bootstrapping": "rbac-defaults" },
      annotations: { [autoUpdateAnnotation]: "true" },
    },
  };
}

/** `false` excludes an object from reconciliation. */
const autoUpdateAnnotation = "rbac.authorization.kubernetes.io/autoupdate";

function aggregateLabel(name: string): string {
  return `${rbacGroup}/aggregate-to-${name}`;
}

export interface PolicyAction {
  /** `recreate` deletes the object first, because the role of a binding is immutable. */
  readonly kind: "create" | "update" | "recreate";
  readonly object: RbacObject;
}

/**
 * Writes at startup that restore the default roles and bindings. Added permissions and subjects stay, removed ones are
 * restored, and objects annotated with autoupdate "false" are not changed. `find` returns the stored object of the same
 * kind, namespace and name.
 */
export function reconcilePolicy(find: (expected: RbacObject) => RbacObject | undefined): PolicyAction[] {
  return bootstrapPolicyObjects().flatMap((expected): PolicyAction[] => {
    const existing = find(expected);
    if (!existing) return [{ kind: "create", object: expected }];
    if (existing.metadata.annotations?.[autoUpdateAnnotation] === "false") return [];
    if (isBinding(expected) && isBinding(existing)) {
      if (!isDeepStrictEqual(existing.roleRef, expected.roleRef))
        return [{ kind: "recreate", object: expected }];
      return updateTo(existing, mergeBinding(existing, expected));
    }
    return isBinding(expected) || isBinding(existing)
      ? []
      : updateTo(existing, mergeRole(existing, expected));
  });
}

function updateTo(existing: RbacObject, object: RbacObject): PolicyAction[] {
  return isDeepStrictEqual(existing, object) ? [] : [{ kind: "update", object }];
}

function mergeBinding<T extends RoleBinding | ClusterRoleBinding>(existing: T, expected: T): T {
  const subjects = existing.subjects ?? [];
  const missing = (expected.subjects ?? []).filter(
    (wanted) => !subjects.some((subject) => isDeepStrictEqual(subject, wanted)),
  );
  const merged = withMetadata(existing, expected);
  return missing.length > 0 ? { ...merged, subjects: [...subjects, ...missing] } : merged;
}

function mergeRole(existing: Role | ClusterRole, expected: Role | ClusterRole): Role | ClusterRole {
  const merged = withMetadata(existing, expected);
  // The rules of an aggregated role are computed from the roles that it selects.
  if ("aggregationRule" in expected)
    return { ...merged, aggregationRule: mergeSelectors(existing, expected) };
  const { aggregationRule: _, ...own }: ClusterRole = merged;
  const missing = uncoveredRules(existing.rules ?? [], expected.rules ?? []) ?? [];
  return missing.length > 0 ? { ...own, rules: [...(existing.rules ?? []), ...missing] } : own;
}

function mergeSelectors(existing: ClusterRole, expected: ClusterRole): ClusterRole["aggregationRule"] {
  const selectors = existing.aggregationRule?.clusterRoleSelectors ?? [];
  const missing = (expected.aggregationRule?.clusterRoleSelectors ?? []).filter(
    (wanted) => !selectors.some((selector) => isDeepStrictEqual(selector, wanted)),
  );
  return missing.length > 0 ? { clusterRoleSelectors: [...selectors, ...missing] } : existing.aggregationRule;
}

function withMetadata<T extends RbacObject>(existing: T, expected: T): T {
  const { labels, annotations } = expected.metadata;
  return {
    ...existing,
    metadata: {
      ...existing.metadata,
      labels: { ...labels, ...existing.metadata.labels },
      annotations: { ...annotations, ...existing.metadata.annotations },
    },
  };
}

function isBinding(object: RbacObject): object is RoleBinding | ClusterRoleBinding {
  return "roleRef" in object;
}
