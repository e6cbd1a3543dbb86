import type * as k8s from "@kubernetes/client-node";
import type { KubeObject, Wire } from "../../../api/meta/objects.ts";

export type PolicyRule = Wire<k8s.V1PolicyRule>;
type RoleRef = Wire<k8s.V1RoleRef>;
export type Subject = Wire<k8s.RbacV1Subject>;
export type Role = KubeObject & Wire<k8s.V1Role>;
export type ClusterRole = KubeObject & Wire<k8s.V1ClusterRole>;
export type RoleBinding = KubeObject & Wire<k8s.V1RoleBinding>;
export type ClusterRoleBinding = KubeObject & Wire<k8s.V1ClusterRoleBinding>;
export type RbacObject = Role | ClusterRole | RoleBinding | ClusterRoleBinding;

export const rbacGroup = "rbac.authorization.k8s.io";

/** Current roles and bindings. Returned objects are never modified. */
export interface RbacSource {
  clusterRole(name: string): ClusterRole | undefined;
  clusterRoleBindings(): Iterable<ClusterRoleBinding>;
  role(namespace: string, name: string): Role | undefined;
  roleBindings(namespace: string): Iterable<RoleBinding>;
}

export type ResolvedRole = { readonly rules: readonly PolicyRule[]; readonly problem?: string };

/** Resolves the role of a binding. `namespace` is that of the binding, empty for cluster role bindings. */
export function resolveRole(source: RbacSource, roleRef: RoleRef, namespace: string): ResolvedRole {
  const { kind, name } = roleRef;
  if (kind !== "ClusterRole" && kind !== "Role") {
    return { rules: [], problem: `unsupported role reference kind: ${JSON.stringify(kind)}` };
  }
  const role = kind === "Role" ? source.role(namespace, name) : source.clusterRole(name);
  if (role) return { rules: role.rules ?? [] };
  return { rules: [], problem: `${kind.toLowerCase()}.${rbacGroup} ${JSON.stringify(name)} not found` };
}
