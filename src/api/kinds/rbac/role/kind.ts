import type { Role } from "../../../meta/objects.ts";
import { defineKind } from "../../kind-definition.ts";
import { validateRole } from "../rbac.ts";

export const roleKind = defineKind<Role>({
  resource: { group: "rbac.authorization.k8s.io", version: "v1", plural: "roles", kind: "Role" },
  strategy: {
    nameRule: "pathSegment",
    allowCreateOnUpdate: true,
    validate: validateRole,
    validateUpdate: validateRole,
  },
});
