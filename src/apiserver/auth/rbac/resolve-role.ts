import { type PolicyRule, type RbacSource, type RoleRef, rbacGroup } from "./objects.ts";

export type ResolvedRole = { readonly rules: readonly PolicyRule[]; readonly problem?: string };

/** The rules of the role that a binding refers to; `namespace` is the binding's, empty if it has none. */
export function resolveRole(source: RbacSource, roleRef: RoleRef, namespace: string): ResolvedRole {
  const { kind, name } = roleRef;
  if (kind !== "ClusterRole" && kind !== "Role") {
    return { rules: [], problem: `unsupported role reference kind: ${JSON.stringify(kind)}` };
  }
  const role = kind === "Role" ? source.role(namespace, name) : source.clusterRole(name);
  if (role) return { rules: role.rules ?? [] };
  return { rules: [], problem: `${kind.toLowerCase()}.${rbacGroup} ${JSON.stringify(name)} not found` };
}
