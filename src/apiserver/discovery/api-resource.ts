import { createHash } from "node:crypto";
import { type Resource, resources, type Subresource } from "../../api/resources.ts";

/** One row of discovery: a resource or a subresource, and what may be done with it. */
export interface ApiResource {
  /** `pods`, `pods/status`. */
  readonly name: string;
  /** Empty for a subresource. */
  readonly singularName: string;
  readonly namespaced: boolean;
  /** Group and version of `kind`, where they are not those the row is listed under. */
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly storageVersionHash?: string;
}

export interface ApiGroup {
  readonly name: string;
  readonly versions: readonly { readonly version: string; readonly resources: readonly ApiResource[] }[];
}

const storedVerbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const statusVerbs = ["get", "patch", "update"];
const proxyVerbs = ["create", "delete", "get", "patch", "update"];
const createOnly = ["create"];

/** What each subresource allows, and the kind it speaks where that is not its parent's. */
const subresourceRows: Record<Subresource, Pick<ApiResource, "verbs"> & Partial<ApiResource>> = {
  status: { verbs: statusVerbs },
  scale: { group: "autoscaling", version: "v1", kind: "Scale", verbs: statusVerbs },
  binding: { kind: "Binding", verbs: createOnly },
  eviction: { group: "policy", version: "v1", kind: "Eviction", verbs: createOnly },
  token: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest", verbs: createOnly },
  finalize: { verbs: ["update"] },
  log: { verbs: ["get"] },
  exec: { kind: "PodExecOptions", verbs: ["create", "get"] },
  attach: { kind: "PodAttachOptions", verbs: ["create", "get"] },
  portforward: { kind: "PodPortForwardOptions", verbs: ["create", "get"] },
  proxy: { kind: "NodeProxyOptions", verbs: proxyVerbs },
};

/** APIs that answer without storing anything. */
const unstored = [
  { group: "", plural: "bindings", kind: "Binding", namespaced: true },
  { group: "authentication.k8s.io", plural: "selfsubjectreviews", kind: "SelfSubjectReview" },
  { group: "authentication.k8s.io", plural: "tokenreviews", kind: "TokenReview" },
  {
    group: "authorization.k8s.io",
    plural: "localsubjectaccessreviews",
    kind: "LocalSubjectAccessReview",
    namespaced: true,
  },
  { group: "authorization.k8s.io", plural: "selfsubjectaccessreviews", kind: "SelfSubjectAccessReview" },
  { group: "authorization.k8s.io", plural: "selfsubjectrulesreviews", kind: "SelfSubjectRulesReview" },
  { group: "authorization.k8s.io", plural: "subjectaccessreviews", kind: "SubjectAccessReview" },
].map((row) => ({ version: "v1", namespaced: false, ...row }));

/** Groups by upstream's priority: where two of them have a resource of one name, clients take the first. */
const groupOrder = [
  "",
  "apps",
  "events.k8s.io",
  "authentication.k8s.io",
  "authorization.k8s.io",
  "policy",
  "rbac.authorization.k8s.io",
  "storage.k8s.io",
  "scheduling.k8s.io",
  "coordination.k8s.io",
  "node.k8s.io",
  "discovery.k8s.io",
];

/** Everything that is served, the core group (named "") first. */
export function apiGroups(): ApiGroup[] {
  const groups = new Map<string, Map<string, ApiResource[]>>(groupOrder.map((name) => [name, new Map()]));
  const add = ({ group, version }: { group: string; version: string }, ...rows: ApiResource[]) => {
    const versions = groups.get(group) ?? new Map<string, ApiResource[]>();
    groups.set(group, versions.set(version, [...(versions.get(version) ?? []), ...rows]));
  };
  for (const resource of resources) {
    add(
      resource,
      storedRow(resource),
      ...resource.subresources.map((name) => subresourceRow(resource, name)),
    );
  }
  for (const row of unstored) {
    const { plural, kind, namespaced } = row;
    add(row, { name: plural, singularName: kind.toLowerCase(), namespaced, kind, verbs: createOnly });
  }
  return [...groups].map(([name, versions]) => ({
    name,
    versions: [...versions].map(([version, rows]) => ({
      version,
      resources: rows.sort((a, b) => (a.name < b.name ? -1 : 1)),
    })),
  }));
}

function storedRow(resource: Resource): ApiResource {
  return {
    name: resource.plural,
    singularName: resource.singular,
    namespaced: resource.namespaced,
    kind: resource.kind,
    // Deleting all namespaces at once is not offered, as upstream.
    verbs:
      resource.plural === "namespaces"
        ? storedVerbs.filter((verb) => verb !== "deletecollection")
        : storedVerbs,
    ...(resource.shortNames.length > 0 && { shortNames: resource.shortNames }),
    ...(resource.categories.length > 0 && { categories: resource.categories }),
    storageVersionHash: storageVersionHash(resource),
  };
}

function subresourceRow(resource: Resource, name: Subresource): ApiResource {
  const { namespaced, kind } = resource;
  return { name: `${resource.plural}/${name}`, singularName: "", namespaced, kind, ...subresourceRows[name] };
}

/** Tells clients when objects are stored as another kind or version than before: the start of a hash of both. */
function storageVersionHash({ group, version, kind, storedAs }: Resource): string {
  const storedGroup = storedAs.startsWith("core/") ? "" : group;
  const hash = createHash("sha256").update(`${storedGroup}/${version}/${kind}`).digest();
  return hash.subarray(0, 8).toString("base64");
}
