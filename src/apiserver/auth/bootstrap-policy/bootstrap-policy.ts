import {
  authenticatedGroup,
  dnsUser,
  kubeletClientUser,
  localVolumesUser,
  mastersGroup,
  monitorUser,
  nodesGroup,
  unauthenticatedGroup,
} from "../../request/user-info.ts";
import { reaggregate } from "../rbac/aggregate.ts";
import {
  type ClusterRole,
  type PolicyRule,
  type RbacObject,
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
export const autoUpdateAnnotation = "rbac.authorization.kubernetes.io/autoupdate";

function aggregateLabel(name: string): string {
  return `${rbacGroup}/aggregate-to-${name}`;
}
