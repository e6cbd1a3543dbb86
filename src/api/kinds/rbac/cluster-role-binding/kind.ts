import type { RoleBinding } from "../../../meta/objects.ts";
import { defineKind } from "../../kind-definition.ts";
import { bindingColumns, defaultBinding, validateClusterRoleBinding, validateRoleRefKept } from "../rbac.ts";

export const clusterRoleBindingKind = defineKind<RoleBinding>({
  resource: {
    group: "rbac.authorization.k8s.io",
    version: "v1",
    plural: "clusterrolebindings",
    kind: "ClusterRoleBinding",
    namespaced: false,
  },
  strategy: {
    nameRule: "pathSegment",
    allowCreateOnUpdate: true,
    applyDefaults: defaultBinding,
    validate: validateClusterRoleBinding,
    validateUpdate: (next, current) => [
      ...validateClusterRoleBinding(next),
      ...validateRoleRefKept(next, current),
    ],
  },
  columns: bindingColumns,
});
