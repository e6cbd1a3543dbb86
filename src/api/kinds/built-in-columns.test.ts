import { expect, test } from "vitest";
import { columnsOf } from "./cells.fixture.ts";

/** `Name,Ready | IP`: what `-o wide` adds stands behind the bar. */
function header(kind: string): string {
  const columns = columnsOf(kind).map(({ definition }) => definition);
  const names = (priority: number) =>
    columns
      .filter((column) => column.priority === priority)
      .map(({ name }) => name)
      .join(",");
  return names(1) ? `${names(0)} | ${names(1)}` : names(0);
}

test.each([
  ["ClusterRole", "Name,Created At"],
  ["ClusterRoleBinding", "Name,Role,Age | Users,Groups,ServiceAccounts"],
  ["ConfigMap", "Name,Data,Age"],
  ["ControllerRevision", "Name,Controller,Revision,Age"],
  ["CronJob", "Name,Schedule,Timezone,Suspend,Active,Last Schedule,Age | Containers,Images,Selector"],
  [
    "DaemonSet",
    "Name,Desired,Current,Ready,Up-to-date,Available,Node Selector,Age | Containers,Images,Selector",
  ],
  ["Deployment", "Name,Ready,Up-to-date,Available,Age | Containers,Images,Selector"],
  ["EndpointSlice", "Name,AddressType,Ports,Endpoints,Age"],
  ["Endpoints", "Name,Endpoints,Age"],
  ["Event", "Last Seen,Type,Reason,Object,Message | Subobject,Source,First Seen,Count,Name"],
  ["Ingress", "Name,Class,Hosts,Address,Ports,Age"],
  ["IngressClass", "Name,Controller,Parameters,Age"],
  ["Job", "Name,Status,Completions,Duration,Age | Containers,Images,Selector"],
  ["Lease", "Name,Holder,Age"],
  ["LimitRange", "Name,Created At"],
  ["Namespace", "Name,Status,Age"],
  ["NetworkPolicy", "Name,Pod-Selector,Age"],
  [
    "Node",
    "Name,Status,Roles,Age,Version | Internal-IP,External-IP,OS-Image,Kernel-Version,Container-Runtime",
  ],
  [
    "PersistentVolume",
    "Name,Capacity,Access Modes,Reclaim Policy,Status,Claim,StorageClass,VolumeAttributesClass,Reason,Age | VolumeMode",
  ],
  [
    "PersistentVolumeClaim",
    "Name,Status,Volume,Capacity,Access Modes,StorageClass,VolumeAttributesClass,Age | VolumeMode",
  ],
  ["Pod", "Name,Ready,Status,Restarts,Age | IP,Node,Nominated Node,Readiness Gates"],
  ["PodDisruptionBudget", "Name,Min Available,Max Unavailable,Allowed Disruptions,Age"],
  ["PriorityClass", "Name,Value,Global-Default,Age,PreemptionPolicy"],
  ["ReplicaSet", "Name,Desired,Current,Ready,Age | Containers,Images,Selector"],
  ["ResourceQuota", "Name,Request,Limit,Age"],
  ["Role", "Name,Created At"],
  ["RoleBinding", "Name,Role,Age | Users,Groups,ServiceAccounts"],
  ["RuntimeClass", "Name,Handler,Age"],
  ["Scale", "Name,Desired,Available,Age"],
  ["Secret", "Name,Type,Data,Age"],
  ["Service", "Name,Type,Cluster-IP,External-IP,Port(s),Age | Selector"],
  ["ServiceAccount", "Name,Age"],
  ["StatefulSet", "Name,Ready,Age | Containers,Images"],
  ["StorageClass", "Name,Provisioner,ReclaimPolicy,VolumeBindingMode,AllowVolumeExpansion,Age"],
])("%s has upstream's columns", (kind, expected) => {
  expect(header(kind)).toBe(expected);
});
