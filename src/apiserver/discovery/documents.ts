import { apiVersionOf } from "../../api/resources.ts";
import { type ApiResource, apiGroups } from "./api-resource.ts";

export type AggregatedVersion = "v2" | "v2beta1";

/** One document for each path: the roots, each group and each group version. */
export function plainDocuments(options: { serverAddress: string }): Map<string, object> {
  const documents = new Map<string, object>();
  const groups: object[] = [];
  for (const { name, versions } of apiGroups()) {
    for (const { version, resources } of versions) {
      const groupVersion = apiVersionOf({ group: name, version });
      // The core group's list has never carried a version of its own.
      const head = { kind: "APIResourceList", ...(name && { apiVersion: "v1" }) };
      documents.set(`${name ? "/apis" : "/api"}/${groupVersion}`, { ...head, groupVersion, resources });
    }
    if (!name) continue;
    const offered = versions.map(({ version }) => ({ groupVersion: `${name}/${version}`, version }));
    const group = { name, versions: offered, preferredVersion: offered[0] };
    documents.set(`/apis/${name}`, { kind: "APIGroup", apiVersion: "v1", ...group });
    groups.push(group);
  }
  documents.set("/apis", { kind: "APIGroupList", apiVersion: "v1", groups });
  return documents.set("/api", {
    kind: "APIVersions",
    versions: ["v1"],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", ...options }],
  });
}

/** The two roots, each with all its groups and all their resources in one answer. */
export function aggregatedDocuments(aggregatedVersion: AggregatedVersion): Map<string, object> {
  const items = apiGroups().map(({ name, versions }) => ({
    metadata: name ? { name } : {},
    versions: versions.map(({ version, resources }) => ({
      version,
      resources: nestSubresources(resources),
      freshness: "Current",
    })),
  }));
  const head = {
    kind: "APIGroupDiscoveryList",
    apiVersion: `apidiscovery.k8s.io/${aggregatedVersion}`,
    metadata: {},
  };
  return new Map([
    ["/api", { ...head, items: items.slice(0, 1) }],
    ["/apis", { ...head, items: items.slice(1) }],
  ]);
}

function nestSubresources(rows: readonly ApiResource[]): object[] {
  return rows
    .filter((row) => !row.name.includes("/"))
    .map((row) => {
      const prefix = `${row.name}/`;
      const subresources = rows
        .filter((other) => other.name.startsWith(prefix))
        .map((other) => ({
          subresource: other.name.slice(prefix.length),
          responseKind: responseKind(other),
          verbs: other.verbs,
        }));
      return {
        resource: row.name,
        responseKind: responseKind(row),
        scope: row.namespaced ? "Namespaced" : "Cluster",
        singularResource: row.singularName,
        verbs: row.verbs,
        ...(row.shortNames && { shortNames: row.shortNames }),
        ...(row.categories && { categories: row.categories }),
        ...(subresources.length > 0 && { subresources }),
      };
    });
}

/** Empty group and version stand for those of the list, as upstream leaves them. */
function responseKind({ group = "", version = "", kind }: ApiResource): object {
  return { group, version, kind };
}
