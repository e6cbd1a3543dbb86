/** One row for each kind that the API serves. Adding a kind is a row here, plus a strategy where it has rules. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  /** The plural in URLs: `statefulsets`. */
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** Subresources that are served under an object of this kind. */
  readonly subresources: readonly Subresource[];
  /** Where objects are kept: two rows with one name serve the same objects under two API groups (events do). */
  readonly storedAs: string;
  /** The warning that every answer about it carries. */
  readonly deprecated?: string;
}

export type Subresource =
  | "status"
  | "scale"
  | "binding"
  | "eviction"
  | "token"
  | "finalize"
  | "log"
  | "exec"
  | "attach"
  | "portforward"
  | "proxy";

type Row = Pick<Resource, "plural" | "kind"> & Partial<Resource>;

const core = rows("", "v1", [
  {
    plural: "namespaces",
    kind: "Namespace",
    namespaced: false,
    shortNames: ["ns"],
    subresources: ["status", "finalize"],
  },
  {
    plural: "pods",
    kind: "Pod",
    shortNames: ["po"],
    categories: ["all"],
    subresources: ["status", "binding", "eviction", "log", "exec", "attach", "portforward"],
  },
  { plural: "nodes", kind: "Node", namespaced: false, shortNames: ["no"], subresources: ["status", "proxy"] },
  { plural: "events", kind: "Event", shortNames: ["ev"] },
  { plural: "configmaps", kind: "ConfigMap", shortNames: ["cm"] },
  { plural: "secrets", kind: "Secret" },
  { plural: "serviceaccounts", kind: "ServiceAccount", shortNames: ["sa"], subresources: ["token"] },
  { plural: "services", kind: "Service", shortNames: ["svc"], categories: ["all"], subresources: ["status"] },
  {
    plural: "endpoints",
    singular: "endpoints",
    kind: "Endpoints",
    shortNames: ["ep"],
    deprecated: "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
  },
  {
    plural: "persistentvolumes",
    kind: "PersistentVolume",
    namespaced: false,
    shortNames: ["pv"],
    subresources: ["status"],
  },
  {
    plural: "persistentvolumeclaims",
    kind: "PersistentVolumeClaim",
    shortNames: ["pvc"],
    subresources: ["status"],
  },
]);

const others = [
  ...rows("apps", "v1", [
    {
      plural: "statefulsets",
      kind: "StatefulSet",
      shortNames: ["sts"],
      categories: ["all"],
      subresources: ["status", "scale"],
    },
    {
      plural: "deployments",
      kind: "Deployment",
      shortNames: ["deploy"],
      categories: ["all"],
      subresources: ["status", "scale"],
    },
    {
      plural: "replicasets",
      kind: "ReplicaSet",
      shortNames: ["rs"],
      categories: ["all"],
      subresources: ["status", "scale"],
    },
    { plural: "controllerrevisions", kind: "ControllerRevision" },
  ]),
  ...rows("coordination.k8s.io", "v1", [{ plural: "leases", kind: "Lease" }]),
  ...rows("discovery.k8s.io", "v1", [{ plural: "endpointslices", kind: "EndpointSlice" }]),
  ...rows("events.k8s.io", "v1", [
    { plural: "events", kind: "Event", shortNames: ["ev"], storedAs: "core/events" },
  ]),
  ...rows("node.k8s.io", "v1", [{ plural: "runtimeclasses", kind: "RuntimeClass", namespaced: false }]),
  ...rows("policy", "v1", [
    {
      plural: "poddisruptionbudgets",
      kind: "PodDisruptionBudget",
      shortNames: ["pdb"],
      subresources: ["status"],
    },
  ]),
  ...rows("rbac.authorization.k8s.io", "v1", [
    { plural: "roles", kind: "Role" },
    { plural: "rolebindings", kind: "RoleBinding" },
    { plural: "clusterroles", kind: "ClusterRole", namespaced: false },
    { plural: "clusterrolebindings", kind: "ClusterRoleBinding", namespaced: false },
  ]),
  ...rows("scheduling.k8s.io", "v1", [
    { plural: "priorityclasses", kind: "PriorityClass", namespaced: false, shortNames: ["pc"] },
  ]),
  ...rows("storage.k8s.io", "v1", [
    { plural: "storageclasses", kind: "StorageClass", namespaced: false, shortNames: ["sc"] },
  ]),
];

export const resources: readonly Resource[] = [...core, ...others];

const byPath = new Map(
  resources.map((resource) => [`${resource.group}/${resource.version}/${resource.plural}`, resource]),
);
const byKind = new Map(resources.map((resource) => [`${apiVersionOf(resource)}/${resource.kind}`, resource]));

export function findResource(group: string, version: string, plural: string): Resource | undefined {
  return byPath.get(`${group}/${version}/${plural}`);
}

export function findResourceOfKind(apiVersion: string, kind: string): Resource | undefined {
  return byKind.get(`${apiVersion}/${kind}`);
}

/** `v1`, `apps/v1`. */
export function apiVersionOf(resource: Pick<Resource, "group" | "version">): string {
  return resource.group ? `${resource.group}/${resource.version}` : resource.version;
}

/** `pods`, `statefulsets.apps`: how messages name a resource. */
export function qualifiedName(resource: Pick<Resource, "group" | "plural">): string {
  return resource.group ? `${resource.plural}.${resource.group}` : resource.plural;
}

function rows(group: string, version: string, table: readonly Row[]): Resource[] {
  return table.map((row) => ({
    group,
    version,
    storedAs: `${group || "core"}/${row.plural}`,
    singular: row.kind.toLowerCase(),
    namespaced: true,
    shortNames: [],
    categories: [],
    subresources: [],
    ...row,
  }));
}
