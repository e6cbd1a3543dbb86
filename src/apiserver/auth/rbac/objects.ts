import type * as k8s from "@kubernetes/client-node";
import type { KubeObject, Wire } from "../../../api/objects.ts";

export type PolicyRule = Wire<k8s.V1PolicyRule>;
export type RoleRef = Wire<k8s.V1RoleRef>;
export type Subject = Wire<k8s.RbacV1Subject>;
export type Role = KubeObject & Wire<k8s.V1Role>;
export type ClusterRole = KubeObject & Wire<k8s.V1ClusterRole>;
export type RoleBinding = KubeObject & Wire<k8s.V1RoleBinding>;
export type ClusterRoleBinding = KubeObject & Wire<k8s.V1ClusterRoleBinding>;
export type RbacObject = Role | ClusterRole | RoleBinding | ClusterRoleBinding;

export const rbacGroup = "rbac.authorization.k8s.io";

/** Roles and bindings as they are now. What it returns is not changed by anybody. */
export interface RbacSource {
  clusterRole(name: string): ClusterRole | undefined;
  clusterRoleBindings(): Iterable<ClusterRoleBinding>;
  role(namespace: string, name: string): Role | undefined;
  roleBindings(namespace: string): Iterable<RoleBinding>;
}
