import { describe, expect, test } from "vitest";
import { builtInKinds } from "../../../api/kinds/built-in-kinds.ts";
import { createKindRegistry } from "../../kinds/kind-registry.ts";
import { apiGroups } from "./api-resource.ts";
import { aggregatedDocuments, createDiscoveryHandler, plainDocuments } from "./discovery-handler.ts";

const discover = createDiscoveryHandler({
  kinds: createKindRegistry(builtInKinds),
  serverAddress: () => "10.0.0.1:6443",
});
const asAggregated = (version: string) =>
  `application/json;as=APIGroupDiscoveryList;v=${version};g=apidiscovery.k8s.io`;

async function getJson(path: string, accept?: string) {
  const answer = await discover(path, { accept });
  return JSON.parse(answer?.body ?? "null");
}

describe("paths that it serves", () => {
  test.each([
    ["/api", "APIVersions"],
    ["/api/", "APIVersions"],
    ["/api/v1", "APIResourceList"],
    ["/apis", "APIGroupList"],
    ["/apis/apps", "APIGroup"],
    ["/apis/apps/v1", "APIResourceList"],
    ["/apis/authorization.k8s.io/v1/", "APIResourceList"],
  ])("%s", async (path, kind) => {
    expect(await getJson(path)).toMatchObject({ kind });
  });

  test.each([
    "/",
    "/apix",
    "/api/v2",
    "/apis/v1",
    "/apis/nope",
    "/apis/apps/v2",
    "/api/v1/pods",
    "/apis/constructor",
  ])("%s is not discovery's", (path) => {
    expect(discover(path, {})).toBeUndefined();
  });
});

describe("plain and aggregated", () => {
  const kubectl = `${asAggregated("v2")},${asAggregated("v2beta1")},application/json`;

  test.each([
    ["/apis", kubectl, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"],
    [
      "/api",
      asAggregated("v2beta1"),
      "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
    ],
    ["/apis", "application/json", "application/json"],
    ["/apis", "application/yaml", "application/yaml"],
    ["/apis/apps", kubectl, "application/json"],
    ["/apis", `${asAggregated("v3")},application/json`, "application/json"],
    ["/apis", "application/vnd.kubernetes.protobuf,application/json", "application/json"],
  ])("%s for %s", async (path, accept, contentType) => {
    const answer = await discover(path, { accept });
    expect(answer).toMatchObject({ status: 200, headers: { "content-type": contentType, vary: "Accept" } });
  });

  test("a client that accepts no supported media type gets 406", async () => {
    await expect(discover("/apis/apps", { accept: "text/html" })).rejects.toMatchObject({ code: 406 });
  });

  test("returns 304 when the client has the current document", async () => {
    const first = await discover("/apis", { accept: kubectl });
    const etag = first?.headers.etag;
    expect(etag).toMatch(/^"[0-9A-F]{128}"$/);
    const again = await discover("/apis", { accept: kubectl, "if-none-match": etag });
    expect(again).toMatchObject({ status: 304, body: "", headers: { etag } });
    expect(await discover("/apis", { "if-none-match": etag })).toMatchObject({ status: 200 });
  });
});

const plain = plainDocuments(apiGroups(builtInKinds), { serverAddress: "10.0.0.1:6443" });

describe("plain discovery", () => {
  test("the core root names versions and the server's address", () => {
    expect(plain.get("/api")).toEqual({
      kind: "APIVersions",
      versions: ["v1"],
      serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: "10.0.0.1:6443" }],
    });
  });

  test("groups are in upstream's order", () => {
    const version = (groupVersion: string) => ({ groupVersion, version: "v1" });
    const { groups } = plain.get("/apis") as { groups: { name: string }[] };
    expect(groups[0]).toEqual({
      name: "apps",
      versions: [version("apps/v1")],
      preferredVersion: version("apps/v1"),
    });
    expect(groups.map((group) => group.name).slice(1, 4)).toEqual([
      "events.k8s.io",
      "authentication.k8s.io",
      "authorization.k8s.io",
    ]);
  });

  const all = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
  const status = ["get", "patch", "update"];

  test.each([
    [
      "/api/v1",
      {
        name: "pods",
        singularName: "pod",
        namespaced: true,
        kind: "Pod",
        verbs: all,
        shortNames: ["po"],
        categories: ["all"],
        storageVersionHash: "xPOwRZ+Yhw8=",
      },
    ],
    ["/api/v1", { name: "pods/status", singularName: "", namespaced: true, kind: "Pod", verbs: status }],
    ["/api/v1", { name: "pods/log", singularName: "", namespaced: true, kind: "Pod", verbs: ["get"] }],
    [
      "/api/v1",
      {
        name: "pods/eviction",
        singularName: "",
        namespaced: true,
        group: "policy",
        version: "v1",
        kind: "Eviction",
        verbs: ["create"],
      },
    ],
    [
      "/api/v1",
      { name: "bindings", singularName: "binding", namespaced: true, kind: "Binding", verbs: ["create"] },
    ],
    [
      "/api/v1",
      {
        name: "namespaces",
        singularName: "namespace",
        namespaced: false,
        kind: "Namespace",
        verbs: all.filter((verb) => verb !== "deletecollection"),
        shortNames: ["ns"],
        storageVersionHash: "Q3oi5N2YM8M=",
      },
    ],
    [
      "/apis/apps/v1",
      {
        name: "deployments/scale",
        singularName: "",
        namespaced: true,
        group: "autoscaling",
        version: "v1",
        kind: "Scale",
        verbs: status,
      },
    ],
    [
      "/apis/events.k8s.io/v1",
      {
        name: "events",
        singularName: "event",
        namespaced: true,
        kind: "Event",
        verbs: all,
        shortNames: ["ev"],
        // Stored as core events, and hashed as such.
        storageVersionHash: "r2yiGXH7wu8=",
      },
    ],
    [
      "/apis/authorization.k8s.io/v1",
      {
        name: "subjectaccessreviews",
        singularName: "subjectaccessreview",
        namespaced: false,
        kind: "SubjectAccessReview",
        verbs: ["create"],
      },
    ],
  ])("%s lists $1.name", (path, row) => {
    const { resources } = plain.get(path) as { resources: { name: string }[] };
    expect(resources.find(({ name }) => name === row.name)).toEqual(row);
    expect(resources.map(({ name }) => name)).toEqual(resources.map(({ name }) => name).sort());
  });
});

describe("aggregated discovery", () => {
  test.each(["v2", "v2beta1"] as const)("%s nests subresources under their resource", (version) => {
    const roots = aggregatedDocuments(apiGroups(builtInKinds), version);
    expect(roots.get("/api")).toMatchObject({
      kind: "APIGroupDiscoveryList",
      apiVersion: `apidiscovery.k8s.io/${version}`,
      items: [{ metadata: {}, versions: [{ version: "v1", freshness: "Current" }] }],
    });
    const { items } = roots.get("/apis") as {
      items: { metadata: { name: string }; versions: { resources: { resource: string }[] }[] }[];
    };
    const apps = items.find(({ metadata }) => metadata.name === "apps");
    const resources = apps?.versions[0]?.resources ?? [];
    expect(resources.map(({ resource }) => resource)).toEqual([
      "controllerrevisions",
      "daemonsets",
      "deployments",
      "replicasets",
      "statefulsets",
    ]);
    expect(resources[4]).toEqual({
      resource: "statefulsets",
      responseKind: { group: "", version: "", kind: "StatefulSet" },
      scope: "Namespaced",
      singularResource: "statefulset",
      verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
      shortNames: ["sts"],
      categories: ["all"],
      subresources: [
        {
          subresource: "scale",
          responseKind: { group: "autoscaling", version: "v1", kind: "Scale" },
          verbs: ["get", "patch", "update"],
        },
        {
          subresource: "status",
          responseKind: { group: "", version: "", kind: "StatefulSet" },
          verbs: ["get", "patch", "update"],
        },
      ],
    });
  });
});
