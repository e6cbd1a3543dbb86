import type * as k8s from "@kubernetes/client-node";
import type { KubeObject, Wire } from "../../api/objects.ts";
import {
  validateClusterRole,
  validateClusterRoleBinding,
  validateRole,
  validateRoleBinding,
  validateRoleRefKept,
} from "../../api/validation/rbac.ts";
import type { Strategy } from "./strategy.ts";

const group = "rbac.authorization.k8s.io";
const shared = { nameRule: "pathSegment", allowCreateOnUpdate: true } as const;

type RoleBinding = KubeObject & Wire<k8s.V1RoleBinding>;

export const roleStrategy: Strategy<KubeObject & Wire<k8s.V1Role>> = {
  ...shared,
  validate: validateRole,
  validateUpdate: validateRole,
};

export const clusterRoleStrategy: Strategy<KubeObject & Wire<k8s.V1ClusterRole>> = {
  ...shared,
  validate: validateClusterRole,
  validateUpdate: validateClusterRole,
};

export const roleBindingStrategy: Strategy<RoleBinding> = {
  ...shared,
  applyDefaults: defaultBinding,
  validate: validateRoleBinding,
  validateUpdate: (next, current) => [...validateRoleBinding(next), ...validateRoleRefKept(next, current)],
};

export const clusterRoleBindingStrategy: Strategy<RoleBinding> = {
  ...shared,
  applyDefaults: defaultBinding,
  validate: validateClusterRoleBinding,
  validateUpdate: (next, current) => [
    ...validateClusterRoleBinding(next),
    ...validateRoleRefKept(next, current),
  ],
};

function defaultBinding({ roleRef, subjects }: RoleBinding): void {
  if (roleRef) roleRef.apiGroup ||= group;
  for (const subject of subjects ?? []) {
    if (subject.kind === "User" || subject.kind === "Group") subject.apiGroup ||= group;
  }
}
