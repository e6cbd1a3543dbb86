import { describe, expect, test } from "vitest";
import { builtInKinds } from "../../../api/kinds/built-in-kinds.ts";
import { builtInSchema } from "../../../api/schema/built-in-schema.ts";
import { createKindRegistry } from "../../kinds/kind-registry.ts";
import { servedVersions } from "./endpoints.ts";
import type { JsonSchema } from "./json-schema.ts";
import { buildOpenApiV3 } from "./open-api-v3.ts";

interface Document {
  paths: Record<
    string,
    Record<string, { operationId: string; parameters?: { name: string }[] } & Record<string, unknown>>
  >;
  components: { schemas: Record<string, JsonSchema> };
}

const kinds = createKindRegistry(builtInKinds);
const source = {
  kinds: kinds.list(),
  descriptions: new Map([[builtInSchema, await builtInSchema.loadDescriptions()]]),
};
const documents = new Map(
  servedVersions(kinds).map((version) => [version.name, buildOpenApiV3(version, source) as Document]),
);

function documentOf(name: string): Document {
  const document = documents.get(name);
  if (!document) throw new Error(`${name} is not served`);
  return document;
}

function schemaOf(name: string): JsonSchema {
  return documentOf("api/v1").components.schemas[name] ?? {};
}

describe("buildOpenApiV3", () => {
  test("every reference resolves", () => {
    for (const document of documents.values()) {
      const refs = JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g);
      const names = new Set(Object.keys(document.components.schemas));
      expect([...refs].map(([, name = ""]) => name).filter((name) => !names.has(name))).toEqual([]);
    }
  });

  test("operation ids are unique", () => {
    const operations = [...documents.values()].flatMap(({ paths }) =>
      Object.values(paths).flatMap(({ parameters: _, ...methods }) => Object.values(methods)),
    );
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
  });

  test.each([
    ["api/v1", "/api/v1/namespaces/{namespace}/pods", "get", "listCoreV1NamespacedPod", "list"],
    ["api/v1", "/api/v1/pods", "get", "listCoreV1PodForAllNamespaces", "list"],
    ["api/v1", "/api/v1/namespaces/{name}", "put", "replaceCoreV1Namespace", "put"],
    [
      "api/v1",
      "/api/v1/namespaces/{namespace}/pods/{name}/exec",
      "post",
      "connectCoreV1PostNamespacedPodExec",
      "connect",
    ],
    [
      "api/v1",
      "/api/v1/namespaces/{namespace}/pods/{name}/eviction",
      "post",
      "createCoreV1NamespacedPodEviction",
      "post",
    ],
    [
      "apis/apps/v1",
      "/apis/apps/v1/namespaces/{namespace}/statefulsets",
      "delete",
      "deleteAppsV1CollectionNamespacedStatefulSet",
      "deletecollection",
    ],
    [
      "apis/apps/v1",
      "/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}/scale",
      "patch",
      "patchAppsV1NamespacedStatefulSetScale",
      "patch",
    ],
    [
      "apis/rbac.authorization.k8s.io/v1",
      "/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}",
      "get",
      "readRbacAuthorizationV1ClusterRole",
      "get",
    ],
    [
      "apis/authorization.k8s.io/v1",
      "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      "post",
      "createAuthorizationV1SelfSubjectAccessReview",
      "post",
    ],
  ])("%s has %s %s", (name, path, method, operationId, action) => {
    expect(documentOf(name).paths[path]?.[method]).toMatchObject({
      operationId,
      "x-kubernetes-action": action,
    });
  });

  test("a patch has its kind and the media types that kubectl expects", () => {
    const patch =
      documentOf("apis/apps/v1").paths["/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}"]?.patch;
    expect(patch?.["x-kubernetes-group-version-kind"]).toEqual({
      group: "apps",
      version: "v1",
      kind: "StatefulSet",
    });
    expect(patch?.parameters?.map(({ name }) => name)).toEqual([
      "dryRun",
      "fieldManager",
      "fieldValidation",
      "force",
    ]);
  });

  test("lists have their merge strategy", () => {
    expect(schemaOf("io.k8s.api.core.v1.PodSpec").properties?.containers).toMatchObject({
      type: "array",
      items: { $ref: "#/components/schemas/io.k8s.api.core.v1.Container" },
      "x-kubernetes-list-map-keys": ["name"],
      "x-kubernetes-list-type": "map",
      "x-kubernetes-patch-merge-key": "name",
      "x-kubernetes-patch-strategy": "merge",
    });
  });

  test("references have descriptions", () => {
    const { description, ...reference } = schemaOf("io.k8s.api.core.v1.Pod").properties?.spec ?? {};
    expect(description).toMatch(/\w/);
    expect(reference).toEqual({ allOf: [{ $ref: "#/components/schemas/io.k8s.api.core.v1.PodSpec" }] });
  });

  test.each<[string, JsonSchema]>([
    ["io.k8s.apimachinery.pkg.api.resource.Quantity", { oneOf: [{ type: "string" }, { type: "number" }] }],
    [
      "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
      { format: "int-or-string", oneOf: [{ type: "integer" }, { type: "string" }] },
    ],
    ["io.k8s.apimachinery.pkg.apis.meta.v1.Time", { type: "string", format: "date-time" }],
    [
      "io.k8s.api.core.v1.Pod",
      { "x-kubernetes-group-version-kind": [{ group: "", version: "v1", kind: "Pod" }] },
    ],
    [
      "io.k8s.api.core.v1.Secret",
      { properties: { data: { type: "object", additionalProperties: { type: "string", format: "byte" } } } },
    ],
    ["io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector", { "x-kubernetes-map-type": "atomic" }],
  ])("%s is defined", (name, expected) => {
    expect(schemaOf(name)).toMatchObject(expected);
  });

  test("almost every field has a description", () => {
    const fields = Object.values(documentOf("api/v1").components.schemas).flatMap(({ properties = {} }) =>
      Object.values(properties),
    );
    const silent = fields.filter(({ description }) => !description);
    expect(silent.length / fields.length).toBeLessThan(0.06);
  });
});
