import { createHash } from "node:crypto";
import type { KindDefinition, Subresource } from "../../../api/kinds/kind-definition.ts";
import type { Resource } from "../../../api/meta/resource.ts";
import { compareVersions } from "../../../api/meta/version.ts";
import type { KindRegistry } from "../../kinds/kind-registry.ts";

/** A resource or subresource in discovery documents. */
export interface ApiResource {
  /** `pods`, `pods/status`. */
  readonly name: string;
  /** Empty for a subresource. */
  readonly singularName: string;
  readonly namespaced: boolean;
  /** Group and version of `kind`, if they differ from those of the list. */
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
/** Verbs of custom resources, in upstream's order. */
const customVerbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const statusVerbs = ["get", "patch", "update"];
const proxyVerbs = ["create", "delete", "get", "patch", "update"];
const createOnly = ["create"];

/** Verbs of each subresource, and its kind where it differs from that of its parent. */
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
  proxy: { verbs: proxyVerbs },
};

/** Resources that are not stored. */
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

/** Groups in upstream's priority. Clients use the first group that has a resource of the requested name. */
const groupOrder = [
  "",
  "apps",
  "events.k8s.io",
  "authentication.k8s.io",
  "authorization.k8s.io",
  "networking.k8s.io",
  "policy",
  "rbac.authorization.k8s.io",
  "storage.k8s.io",
  "apiextensions.k8s.io",
  "scheduling.k8s.io",
  "coordination.k8s.io",
  "node.k8s.io",
  "discovery.k8s.io",
];

/** Groups, versions and resources of the given kinds and of the APIs that store nothing. The core group is first. */
export function apiGroups(kinds: readonly KindDefinition[]): ApiGroup[] {
  const groups = new Map<string, Map<string, ApiResource[]>>(groupOrder.map((name) => [name, new Map()]));
  const add = ({ group, version }: { group: string; version: string }, ...rows: ApiResource[]) => {
    const versions = groups.get(group) ?? new Map<string, ApiResource[]>();
    groups.set(group, versions.set(version, [...(versions.get(version) ?? []), ...rows]));
  };
  const custom = new Set<ApiResource>();
  for (const { resource, subresources, schema } of kinds) {
    const stored = schema.decode ? { ...storedRow(resource), verbs: customVerbs } : storedRow(resource);
    const rows = [stored, ...subresources.map((name) => subresourceRow(resource, name))];
    if (schema.decode) for (const row of rows) custom.add(row);
    add(resource, ...rows);
  }
  for (const row of unstored) {
    const { plural, kind, namespaced } = row;
    add(row, { name: plural, singularName: kind.toLowerCase(), namespaced, kind, verbs: createOnly });
  }
  // As upstream, the scale of a custom resource comes after its status.
  const keyOf = (row: ApiResource) => (custom.has(row) ? row.name.replace(/\/scale$/, "/~") : row.name);
  const byName = (a: ApiResource, b: ApiResource) => (keyOf(a) < keyOf(b) ? -1 : 1);
  return [...groups].map(([name, versions]) => ({
    name,
    versions: [...versions]
      .sort(([a], [b]) => (groupOrder.includes(name) ? 0 : compareVersions(a, b)))
      .map(([version, rows]) => ({ version, resources: rows.sort(byName) })),
  }));
}

/** Whether the group has a built-in kind, or an API that stores nothing. Upstream answers for other groups without a Status. */
export function isServedGroup(kinds: KindRegistry, group: string): boolean {
  return (
    groupOrder.includes(group) ||
    kinds.list().some(({ resource, schema }) => resource.group === group && !schema.decode)
  );
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
  const { namespaced } = resource;
  const kind = name === "proxy" ? `${resource.kind}ProxyOptions` : resource.kind;
  return { name: `${resource.plural}/${name}`, singularName: "", namespaced, kind, ...subresourceRows[name] };
}

/** Hash of the storage version. Changes when objects are stored as another kind or version. */
function storageVersionHash({ group, version, kind, storedAs }: Resource): string {
  const storedGroup = storedAs.startsWith("core/") ? "" : group;
  const hash = createHash("sha256").update(`${storedGroup}/${version}/${kind}`).digest();
  return hash.subarray(0, 8).toString("base64");
}
