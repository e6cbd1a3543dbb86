import type { PolicyRule } from "../rbac/objects.ts";
import { allow, allowPaths, read, write } from "./rule.ts";

/** Cluster roles that are meant for people. */
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

/** What each of these gathers: `admin` is `edit` and more, `edit` is `view` and more. */
export const aggregatedRoles = ["admin", "edit", "view"] as const;

/** The cluster roles that are gathered, and by whom. */
export const aggregateTo: Readonly<Record<string, (typeof aggregatedRoles)[number]>> = {
  edit: "admin",
  view: "edit",
  "system:aggregate-to-admin": "admin",
  "system:aggregate-to-edit": "edit",
  "system:aggregate-to-view": "view",
};
