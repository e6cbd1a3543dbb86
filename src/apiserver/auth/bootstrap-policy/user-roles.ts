import { dnsUser } from "../../request/user-info.ts";
import type { PolicyRule, Subject } from "../rbac/rbac-objects.ts";
import { allow, allowPaths, read, serviceAccount, user, write, writeEvents } from "./rule.ts";

/** Cluster roles for users. */
export const userRoles: Readonly<Record<string, readonly PolicyRule[]>> = {
  "cluster-admin": [allow("*", "*", "*"), allowPaths("*", "*")],
  "system:aggregate-to-admin": [
    allow("create", "authorization.k8s.io", "localsubjectaccessreviews"),
    allow(
      "create delete deletecollection get list patch update watch",
      "rbac.authorization.k8s.io",
      "rolebindings roles",
    ),
  ],
  "system:aggregate-to-edit": [
    allow(read, "core", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"),
    allow("impersonate", "core", "serviceaccounts"),
    allow(write, "core", "pods pods/attach pods/exec pods/portforward pods/proxy"),
    allow("create", "core", "pods/eviction"),
    allow(
      write,
      "core",
      `configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets
      serviceaccounts services services/proxy`,
    ),
    allow("create", "core", "serviceaccounts/token"),
    allow(write, "core events.k8s.io", "events"),
    allow(
      write,
      "apps",
      `daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale
      statefulsets statefulsets/scale`,
    ),
    allow(write, "autoscaling", "horizontalpodautoscalers"),
    allow(write, "batch", "cronjobs jobs"),
    allow(
      write,
      "extensions",
      `daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets
      replicasets/scale replicationcontrollers/scale`,
    ),
    allow(write, "policy", "poddisruptionbudgets"),
    allow(write, "networking.k8s.io", "ingresses networkpolicies"),
    allow("create delete deletecollection get list patch update watch", "coordination.k8s.io", "leases"),
    allow(write, "resource.k8s.io", "resourceclaims resourceclaimtemplates"),
  ],
  "system:aggregate-to-view": [
    allow(
      read,
      "core",
      `configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods
      replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status`,
    ),
    allow(
      read,
      "core",
      `bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status
      resourcequotas resourcequotas/status`,
    ),
    allow(read, "core", "namespaces"),
    allow(read, "core events.k8s.io", "events"),
    allow(read, "discovery.k8s.io", "endpointslices"),
    allow(
      read,
      "apps",
      `controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status
      replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status`,
    ),
    allow(read, "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
    allow(read, "batch", "cronjobs cronjobs/status jobs jobs/status"),
    allow(
      read,
      "extensions",
      `daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses
      ingresses/status networkpolicies replicasets replicasets/scale replicasets/status
      replicationcontrollers/scale`,
    ),
    allow(read, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
    allow(read, "networking.k8s.io", "ingresses ingresses/status networkpolicies"),
    allow(read, "resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates"),
  ],
  "system:basic-user": [
    allow("create", "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews"),
    allow("create", "authentication.k8s.io", "selfsubjectreviews"),
  ],
  "system:discovery": [
    allowPaths(
      "get",
      "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/",
    ),
  ],
  "system:public-info-viewer": [allowPaths("get", "/healthz /livez /readyz /version /version/")],
  "system:monitoring": [
    allowPaths(
      "get",
      "/flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz",
    ),
    allow("get", "core", "nodes/metrics"),
  ],
};

/** Aggregated roles: `admin` includes `edit`, which includes `view`. */
export const aggregatedRoles = ["admin", "edit", "view"] as const;

/** Roles that are aggregated, with the role that includes them. */
export const aggregateTo: Readonly<Record<string, (typeof aggregatedRoles)[number]>> = {
  edit: "admin",
  view: "edit",
  "system:aggregate-to-admin": "admin",
  "system:aggregate-to-edit": "edit",
  "system:aggregate-to-view": "view",
};

interface NamespaceRole {
  readonly namespace: "kube-system" | "kube-public";
  readonly name: string;
  readonly rules: readonly PolicyRule[];
  /** Name of the binding. Defaults to that of the role. */
  readonly bindingName?: string;
  readonly subjects: readonly Subject[];
}

const leaderElection = [
  allow("create get list update watch", "coordination.k8s.io", "leases"),
  allow("create get list update watch", "coordination.k8s.io", "leasecandidates"),
];

/** Default roles in namespaces, each with its binding. */
export const namespaceRoles: readonly NamespaceRole[] = [
  // Not in upstream: the DNS server of `kindling up` publishes its service.
  {
    namespace: "kube-system",
    name: dnsUser,
    rules: [
      allow("create", "core", "services"),
      allow("get", "core", "services", "kube-dns"),
      allow("create", "discovery.k8s.io", "endpointslices"),
      allow("get update", "discovery.k8s.io", "endpointslices", "kube-dns"),
    ],
    subjects: [user(dnsUser)],
  },
  {
    namespace: "kube-system",
    name: "extension-apiserver-authentication-reader",
    rules: [allow(read, "core", "configmaps", "extension-apiserver-authentication")],
    bindingName: "system::extension-apiserver-authentication-reader",
    subjects: [user("system:kube-controller-manager"), user("system:kube-scheduler")],
  },
  {
    namespace: "kube-system",
    name: "system::leader-locking-kube-controller-manager",
    rules: leaderElection,
    subjects: [
      user("system:kube-controller-manager"),
      serviceAccount("kube-controller-manager"),
      serviceAccount("leader-election-controller"),
    ],
  },
  {
    namespace: "kube-system",
    name: "system::leader-locking-kube-scheduler",
    rules: leaderElection,
    subjects: [user("system:kube-scheduler"), serviceAccount("kube-scheduler")],
  },
  {
    namespace: "kube-system",
    name: "system:controller:bootstrap-signer",
    rules: [allow(read, "core", "secrets")],
    subjects: [serviceAccount("bootstrap-signer")],
  },
  {
    namespace: "kube-system",
    name: "system:controller:cloud-provider",
    rules: [allow("create get list watch", "core", "configmaps")],
    subjects: [serviceAccount("cloud-provider")],
  },
  {
    namespace: "kube-system",
    name: "system:controller:token-cleaner",
    rules: [allow("delete get list watch", "core", "secrets"), writeEvents],
    subjects: [serviceAccount("token-cleaner")],
  },
  {
    namespace: "kube-public",
    name: "system:controller:bootstrap-signer",
    rules: [
      allow(read, "core", "configmaps"),
      allow("update", "core", "configmaps", "cluster-info"),
      writeEvents,
    ],
    subjects: [serviceAccount("bootstrap-signer")],
  },
];
