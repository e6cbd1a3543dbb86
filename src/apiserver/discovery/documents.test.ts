import { describe, expect, test } from "vitest";
import { aggregatedDocuments, plainDocuments } from "./documents.ts";

const plain = plainDocuments({ serverAddress: "10.0.0.1:6443" });

describe("plain discovery", () => {
  test("the core root names versions and the server's address", () => {
    expect(plain.get("/api")).toEqual({
      kind: "APIVersions",
      versions: ["v1"],
      serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: "10.0.0.1:6443" }],
    });
  });

  test("groups come in upstream's order", () => {
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
    const roots = aggregatedDocuments(version);
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
      "deployments",
      "replicasets",
      "statefulsets",
    ]);
    expect(resources[3]).toEqual({
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
