import type { ClusterRole } from "../../../meta/objects.ts";
import { defineKind } from "../../kind-definition.ts";
import { validateClusterRole } from "../rbac.ts";

export const clusterRoleKind = defineKind<ClusterRole>({
  resource: {
    group: "rbac.authorization.k8s.io",
    version: "v1",
    plural: "clusterroles",
    kind: "ClusterRole",
    namespaced: false,
  },
  strategy: {
    nameRule: "pathSegment",
    allowCreateOnUpdate: true,
    validate: validateClusterRole,
    validateUpdate: validateClusterRole,
  },
});
