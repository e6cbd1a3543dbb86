import type { Resource } from "../../api/resources.ts";
import {
  configMapTable,
  leaseTable,
  namespaceTable,
  plainTable,
  priorityClassTable,
  runtimeClassTable,
  secretTable,
  serviceAccountTable,
} from "./config-table.ts";
import { eventTable } from "./event-table.ts";
import { nodeTable } from "./node-table.ts";
import { podTable } from "./pod-table.ts";
import { roleBindingTable } from "./role-binding-table.ts";
import { endpointSliceTable, endpointsTable, serviceTable } from "./service-table.ts";
import { persistentVolumeClaimTable, persistentVolumeTable, storageClassTable } from "./storage-table.ts";
import type { TableLayout } from "./table-layout.ts";
import {
  controllerRevisionTable,
  deploymentTable,
  podDisruptionBudgetTable,
  replicaSetTable,
  scaleTable,
  statefulSetTable,
} from "./workload-table.ts";

/** Kinds that are not here get the plain table, as roles and cluster roles do. */
const layouts: ReadonlyMap<string, TableLayout> = new Map<string, TableLayout>([
  ["/ConfigMap", configMapTable],
  ["/Endpoints", endpointsTable],
  ["/Event", eventTable],
  ["/Namespace", namespaceTable],
  ["/Node", nodeTable],
  ["/PersistentVolume", persistentVolumeTable],
  ["/PersistentVolumeClaim", persistentVolumeClaimTable],
  ["/Pod", podTable],
  ["/Secret", secretTable],
  ["/Service", serviceTable],
  ["/ServiceAccount", serviceAccountTable],
  ["apps/ControllerRevision", controllerRevisionTable],
  ["apps/Deployment", deploymentTable],
  ["apps/ReplicaSet", replicaSetTable],
  ["apps/StatefulSet", statefulSetTable],
  ["autoscaling/Scale", scaleTable],
  ["coordination.k8s.io/Lease", leaseTable],
  ["discovery.k8s.io/EndpointSlice", endpointSliceTable],
  ["events.k8s.io/Event", eventTable],
  ["node.k8s.io/RuntimeClass", runtimeClassTable],
  ["policy/PodDisruptionBudget", podDisruptionBudgetTable],
  ["rbac.authorization.k8s.io/ClusterRoleBinding", roleBindingTable],
  ["rbac.authorization.k8s.io/RoleBinding", roleBindingTable],
  ["scheduling.k8s.io/PriorityClass", priorityClassTable],
  ["storage.k8s.io/StorageClass", storageClassTable],
]);

/** How objects of a kind are shown; `{ group: "autoscaling", kind: "Scale" }` for what the scale subresource answers. */
export function tableFor({ group, kind }: Pick<Resource, "group" | "kind">): TableLayout {
  return layouts.get(`${group}/${kind}`) ?? plainTable;
}
