import type { RoleBinding } from "../../../meta/objects.ts";
import { defineKind } from "../../kind-definition.ts";
import { bindingColumns, defaultBinding, validateRoleBinding, validateRoleRefKept } from "../rbac.ts";

export const roleBindingKind = defineKind<RoleBinding>({
  resource: {
    group: "rbac.authorization.k8s.io",
    version: "v1",
    plural: "rolebindings",
    kind: "RoleBinding",
  },
  strategy: {
    nameRule: "pathSegment",
    allowCreateOnUpdate: true,
    applyDefaults: defaultBinding,
    validate: validateRoleBinding,
    validateUpdate: (next, current) => [...validateRoleBinding(next), ...validateRoleRefKept(next, current)],
  },
  columns: bindingColumns,
});
