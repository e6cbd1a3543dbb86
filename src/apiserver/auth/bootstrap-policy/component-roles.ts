import { dnsUser, localVolumesUser, monitorUser, networkPolicyUser } from "../../request/user-info.ts";
import type { PolicyRule } from "../rbac/rbac-objects.ts";
import { allow, allowPaths, read, writeEvents } from "./rule.ts";

/** Permissions of every kubelet that do not depend on its node. Also the rules of the role `system:node`. */
export const nodeRules = [
  allow("create", "authentication.k8s.io", "tokenreviews"),
  allow("create", "authorization.k8s.io", "localsubjectaccessreviews subjectaccessreviews"),
  allow(read, "core", "services"),
  allow("create get list watch", "core", "nodes"),
  allow("patch update", "core", "nodes/status"),
  allow("patch update", "core", "nodes"),
  writeEvents,
  allow(read, "core", "pods"),
  allow("create delete", "core", "pods"),
  allow("patch update", "core", "pods/status"),
  allow("create", "core", "pods/eviction"),
  allow(read, "core", "configmaps secrets"),
  allow("get", "core", "persistentvolumeclaims persistentvolumes"),
  allow("get", "core", "endpoints"),
  allow("create get list watch", "certificates.k8s.io", "certificatesigningrequests"),
  allow("create delete get patch update", "coordination.k8s.io", "leases"),
  allow("get", "storage.k8s.io", "volumeattachments"),
  allow("create", "core", "serviceaccounts/token"),
  allow("get patch update", "core", "persistentvolumeclaims/status"),
  allow(read, "storage.k8s.io", "csidrivers"),
  allow("create delete get patch update", "storage.k8s.io", "csinodes"),
  allow(read, "node.k8s.io", "runtimeclasses"),
  allow("get", "resource.k8s.io", "resourceclaims"),
  allow("deletecollection", "resource.k8s.io", "resourceslices"),
  allow("get", "core", "serviceaccounts"),
];

/** Lets nodes read the uid of the cluster. */
export const clusterUidReader = "system:kindling-cluster-uid";

/** Roles that upstream does not have. */
const ownRoles: Readonly<Record<string, readonly PolicyRule[]>> = {
  // The rules of examples/prometheus/cluster-role.yaml, which a monitor of another cluster needs.
  [monitorUser]: [
    allow("list watch", "core", "events nodes persistentvolumeclaims pods"),
    allow("list watch", "apps", "statefulsets"),
    allow("get", "core", "nodes/proxy"),
    allow("create", "authentication.k8s.io", "tokenreviews"),
    allow("create", "authorization.k8s.io", "subjectaccessreviews"),
  ],
  [dnsUser]: [
    allow("list watch", "core", "pods services"),
    allow("list watch", "discovery.k8s.io", "endpointslices"),
  ],
  [networkPolicyUser]: [
    allow("list watch", "core", "namespaces pods"),
    allow("list watch", "networking.k8s.io", "networkpolicies"),
    writeEvents,
  ],
  [localVolumesUser]: [allow("create", "storage.k8s.io", "storageclasses")],
  // A kubelet marks its sandboxes with the cluster's uid, which is that of this namespace.
  [clusterUidReader]: [allow("get", "core", "namespaces", "kube-system")],
};

/** Cluster roles of the control plane components and nodes. */
export const componentRoles: Readonly<Record<string, readonly PolicyRule[]>> = {
  ...ownRoles,
  "system:node": nodeRules,
  "system:auth-delegator": [
    allow("create", "authentication.k8s.io", "tokenreviews"),
    allow("create", "authorization.k8s.io", "subjectaccessreviews"),
  ],
  "system:certificates.k8s.io:certificatesigningrequests:nodeclient": [
    allow("create", "certificates.k8s.io", "certificatesigningrequests/nodeclient"),
  ],
  "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient": [
    allow("create", "certificates.k8s.io", "certificatesigningrequests/selfnodeclient"),
  ],
  "system:certificates.k8s.io:kube-apiserver-client-approver": [
    allow("approve", "certificates.k8s.io", "signers", "kubernetes.io/kube-apiserver-client"),
  ],
  "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver": [
    allow("approve", "certificates.k8s.io", "signers", "kubernetes.io/kube-apiserver-client-kubelet"),
  ],
  "system:certificates.k8s.io:kubelet-serving-approver": [
    allow("approve", "certificates.k8s.io", "signers", "kubernetes.io/kubelet-serving"),
  ],
  "system:certificates.k8s.io:legacy-unknown-approver": [
    allow("approve", "certificates.k8s.io", "signers", "kubernetes.io/legacy-unknown"),
  ],
  "system:heapster": [
    allow(read, "core", "events namespaces nodes pods"),
    allow(read, "extensions", "deployments"),
  ],
  "system:kube-aggregator": [allow(read, "core", "endpoints services")],
  "system:kube-controller-manager": [
    writeEvents,
    allow("create", "coordination.k8s.io", "leases"),
    allow("get update", "coordination.k8s.io", "leases", "kube-controller-manager"),
    allow("create", "core", "secrets serviceaccounts"),
    allow("delete", "core", "secrets"),
    allow("get", "core", "configmaps namespaces secrets serviceaccounts"),
    allow("update", "core", "secrets serviceaccounts"),
    allow("create", "authentication.k8s.io", "tokenreviews"),
    allow("create", "authorization.k8s.io", "subjectaccessreviews"),
    allow("list watch", "*", "*"),
    allow("create", "core", "serviceaccounts/token"),
  ],
  "system:kube-dns": [allow("list watch", "core", "endpoints services")],
  "system:kube-scheduler": [
    writeEvents,
    allow("create", "coordination.k8s.io", "leases"),
    allow("get list update watch", "coordination.k8s.io", "leases", "kube-scheduler"),
    allow(
      "create delete deletecollection get list patch update watch",
      "coordination.k8s.io",
      "leasecandidates",
    ),
    allow(read, "core", "nodes"),
    allow("delete get list watch", "core", "pods"),
    allow("create", "core", "bindings pods/binding"),
    allow("patch update", "core", "pods/status"),
    allow(read, "core", "replicationcontrollers services"),
    allow(read, "apps extensions", "replicasets"),
    allow(read, "apps", "statefulsets"),
    allow(read, "policy", "poddisruptionbudgets"),
    allow(read, "core", "persistentvolumeclaims persistentvolumes"),
    allow("create", "authentication.k8s.io", "tokenreviews"),
    allow("create", "authorization.k8s.io", "subjectaccessreviews"),
    allow(read, "storage.k8s.io", "csinodes"),
    allow(read, "storage.k8s.io", "volumeattachments"),
    allow(read, "core", "namespaces"),
    allow(read, "storage.k8s.io", "csidrivers"),
    allow(read, "storage.k8s.io", "csistoragecapacities"),
    allow(read, "resource.k8s.io", "deviceclasses"),
    allow("get list patch update watch", "resource.k8s.io", "resourceclaims"),
    allow("get list patch update watch", "resource.k8s.io", "resourceclaims/status"),
    allow("update", "core", "pods/finalizers"),
    allow(read, "resource.k8s.io", "resourceslices"),
    allow("create delete", "resource.k8s.io", "resourceclaims"),
    allow("patch update", "resource.k8s.io", "resourceclaims/binding"),
  ],
  "system:kubelet-api-admin": [
    allow(read, "core", "nodes"),
    allow("proxy", "core", "nodes"),
    allow("*", "core", "nodes/log nodes/metrics nodes/proxy nodes/stats"),
    allow("*", "core", "nodes/configz nodes/healthz nodes/pods"),
  ],
  "system:node-bootstrapper": [
    allow("create get list watch", "certificates.k8s.io", "certificatesigningrequests"),
  ],
  "system:node-problem-detector": [
    allow("get", "core", "nodes"),
    allow("patch", "core", "nodes/status"),
    writeEvents,
  ],
  "system:node-proxier": [
    allow("list watch", "core", "endpoints services"),
    allow(read, "core", "nodes"),
    writeEvents,
    allow("list watch", "networking.k8s.io", "servicecidrs"),
    allow("list watch", "discovery.k8s.io", "endpointslices"),
  ],
  "system:persistent-volume-provisioner": [
    allow("create delete get list watch", "core", "persistentvolumes"),
    allow("get list update watch", "core", "persistentvolumeclaims"),
    allow(read, "storage.k8s.io", "storageclasses"),
    allow("watch", "core", "events"),
    writeEvents,
  ],
  "system:service-account-issuer-discovery": [
    allowPaths(
      "get",
      "/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/",
    ),
  ],
  "system:volume-scheduler": [
    allow("get list patch update watch", "core", "persistentvolumes"),
    allow(read, "storage.k8s.io", "storageclasses"),
    allow("get list patch update watch", "core", "persistentvolumeclaims"),
  ],
};
