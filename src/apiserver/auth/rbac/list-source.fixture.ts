import type {
  ClusterRole,
  ClusterRoleBinding,
  RbacObject,
  RbacSource,
  Role,
  RoleBinding,
} from "./rbac-objects.ts";

/** RbacSource over a list of objects, which tests may modify. */
export function listSource(objects: readonly RbacObject[]): RbacSource {
  const isNamed = (namespace: string | undefined, name: string) => (object: RbacObject) =>
    object.metadata.name === name && object.metadata.namespace === namespace;
  return {
    clusterRole: (name) => objects.filter(isClusterRole).find(isNamed(undefined, name)),
    clusterRoleBindings: () => objects.filter(isClusterRoleBinding),
    role: (namespace, name) => objects.filter(isRole).find(isNamed(namespace, name)),
    roleBindings: (namespace) =>
      objects.filter(isRoleBinding).filter((binding) => binding.metadata.namespace === namespace),
  };
}

const isClusterRole = (object: RbacObject): object is ClusterRole => object.kind === "ClusterRole";
const isRole = (object: RbacObject): object is Role => object.kind === "Role";
const isRoleBinding = (object: RbacObject): object is RoleBinding => object.kind === "RoleBinding";
const isClusterRoleBinding = (object: RbacObject): object is ClusterRoleBinding =>
  object.kind === "ClusterRoleBinding";
