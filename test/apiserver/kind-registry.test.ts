import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { builtInKinds } from "../../src/api/kinds/built-in-kinds.ts";
import { ageColumn, column, integerColumn, nameColumn } from "../../src/api/kinds/columns.ts";
import { defineKind } from "../../src/api/kinds/kind-definition.ts";
import { FieldErrors } from "../../src/api/meta/field-errors.ts";
import type { KubeObject } from "../../src/api/meta/objects.ts";
import { builtInSchema } from "../../src/api/schema/built-in-schema.ts";
import { createSchema } from "../../src/api/schema/schema.ts";
import { createKindRegistry } from "../../src/apiserver/kinds/kind-registry.ts";
import type { Client, WatchEvent } from "../../src/client/api/client.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";

interface Widget extends KubeObject {
  spec?: { size?: number; color?: string; parts?: { name: string; weight?: number }[] };
  status?: { phase?: string };
}

const schema = createSchema({
  definitions: {
    "example.v1.Widget": {
      fields: {
        apiVersion: "string",
        kind: "string",
        metadata: "meta.v1.ObjectMeta",
        spec: "example.v1.WidgetSpec",
        status: "example.v1.WidgetStatus",
      },
      kind: { group: "example.com", version: "v1", kind: "Widget" },
    },
    "example.v1.WidgetSpec": {
      fields: { size: "int32", color: "string", parts: "[]example.v1.WidgetPart" },
      required: ["size"],
    },
    "example.v1.WidgetPart": { fields: { name: "string", weight: "int32" }, required: ["name"] },
    "example.v1.WidgetStatus": { fields: { phase: "string" } },
  },
  mergeRules: {
    "example.v1.WidgetSpec": {
      parts: { patchStrategy: ["merge"], patchMergeKey: "name", listType: "map", listMapKeys: ["name"] },
    },
  },
  enums: { "example.v1.WidgetSpec": { color: "blue,red" } },
  openApiName: (definition) => `com.${definition}`,
  loadDescriptions: async () => ({ "example.v1.WidgetSpec": { size: "Size of the widget." } }),
  base: builtInSchema,
});

const widgetKind = defineKind<Widget>({
  resource: {
    group: "example.com",
    version: "v1",
    plural: "widgets",
    kind: "Widget",
    shortNames: ["wd"],
    categories: ["all"],
  },
  schema,
  subresources: ["status"],
  strategy: {
    applyDefaults(widget) {
      widget.spec ??= {};
      widget.spec.color ??= "blue";
    },
    prepareForCreate(next) {
      next.metadata.generation = 1;
      delete next.status;
    },
    prepareForUpdate(next, current) {
      if (current.status) next.status = current.status;
      else delete next.status;
    },
    prepareForStatusUpdate(next, current) {
      if (current.spec) next.spec = current.spec;
    },
    validate({ spec }) {
      const at = new FieldErrors("spec");
      if ((spec?.size ?? 0) > 100) at.invalid("size", spec?.size, "must be at most 100");
      return at.errors;
    },
    selectableFields: { "spec.color": ({ spec }) => spec?.color ?? "" },
  },
  columns: [
    nameColumn,
    integerColumn("Size", "Size of the widget", ({ spec }) => spec?.size ?? 0),
    column("Color", "Color of the widget", ({ spec }) => spec?.color ?? ""),
    ageColumn,
  ],
});

const kinds = createKindRegistry(builtInKinds);
const id = { group: "example.com", version: "v1", plural: "widgets", namespaced: true };
const path = "/apis/example.com/v1/namespaces/default/widgets";
const tableType = "application/json;as=Table;v=v1;g=meta.k8s.io";
const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

let server: TestServer;
let client: Client;

beforeAll(async () => {
  server = await startTestServer({ kinds });
  client = await connectCluster({ kubeconfig: server.kubeconfig });
});
afterAll(async () => {
  client.close();
  await server.close();
});

const widgets = () => client.resource<Widget>(id);

function make(name: string, spec: Widget["spec"] = { size: 1 }): Widget {
  return { apiVersion: "example.com/v1", kind: "Widget", metadata: { name, namespace: "default" }, spec };
}

async function statusOf(method: string, target: string, body?: unknown): Promise<number> {
  return (await server.call(method, target, { body })).status;
}

async function expectUnserved(): Promise<void> {
  expect(await statusOf("GET", path)).toBe(404);
  expect(await statusOf("POST", path, make("a"))).toBe(404);
  expect(await statusOf("GET", `${path}/a`)).toBe(404);
  expect(await statusOf("GET", "/apis/example.com/v1")).toBe(404);
  expect(await statusOf("GET", "/apis/example.com")).toBe(404);
  expect((await server.call("GET", "/apis")).text).not.toContain("example.com");
  const aggregated = await server.call("GET", "/apis", { headers: { accept: aggregatedType } });
  expect(aggregated.text).not.toContain("widgets");
  expect(await statusOf("GET", "/openapi/v3/apis/example.com/v1")).toBe(404);
  expect((await server.call("GET", "/openapi/v3")).text).not.toContain("example.com");
  expect((await server.call("GET", "/openapi/v2")).text).not.toContain("example.v1.Widget");
}

test("a kind that is not registered is not served", expectUnserved);

describe("a kind that is added while the server runs", () => {
  beforeAll(() => kinds.add(widgetKind));

  test("create applies defaults, decodes with the kind's schema and validates", async () => {
    const created = await widgets().create({ ...make("a"), status: { phase: "Ready" } });
    expect(created).toMatchObject({
      kind: "Widget",
      metadata: { generation: 1, uid: expect.any(String), resourceVersion: expect.any(String) },
      spec: { size: 1, color: "blue" },
    });
    expect(created.status).toBeUndefined();
    await expect(widgets().create(make("b", { size: 101 }))).rejects.toThrow("must be at most 100");
    await expect(widgets().create(make("b", { size: "big" as never }))).rejects.toThrow("cannot unmarshal");
    await expect(widgets().create(make("a"))).rejects.toThrow("already exists");
  });

  test("get, list and field selectors", async () => {
    await widgets().create(make("red", { size: 2, color: "red" }));
    expect((await widgets().get({ namespace: "default", name: "red" })).spec?.color).toBe("red");
    const all = await widgets().list({ namespace: "default" });
    expect(all.items.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      "Widget a",
      "Widget red",
    ]);
    const red = await widgets().list({ fieldSelector: "spec.color=red" });
    expect(red.items.map(({ metadata }) => metadata.name)).toEqual(["red"]);
  });

  test("update, and patches of each type", async () => {
    const key = { namespace: "default", name: "a" };
    const current = await widgets().get(key);
    await widgets().update({ ...current, spec: { size: 3, parts: [{ name: "x", weight: 1 }] } });
    await expect(widgets().update(current)).rejects.toThrow("the object has been modified");
    const merge = { kind: "merge", body: { metadata: { labels: { a: "b" } } } } as const;
    expect((await widgets().patch(key, { patch: merge })).metadata.labels).toEqual({ a: "b" });
    const json = { kind: "json", body: [{ op: "replace", path: "/spec/size", value: 4 }] } as const;
    expect((await widgets().patch(key, { patch: json })).spec?.size).toBe(4);
    // The merge key is in the kind's schema.
    const strategic = { kind: "strategic", body: { spec: { parts: [{ name: "y" }] } } } as const;
    const { spec } = await widgets().patch(key, { patch: strategic });
    expect(spec?.parts).toEqual([{ name: "y" }, { name: "x", weight: 1 }]);
  });

  test("the status subresource changes the status only", async () => {
    const key = { namespace: "default", name: "a" };
    const patch = { kind: "merge", body: { spec: { size: 99 }, status: { phase: "Ready" } } } as const;
    const { spec, status } = await widgets().patch(key, { patch, subresource: "status" });
    expect({ size: spec?.size, status }).toEqual({ size: 4, status: { phase: "Ready" } });
    expect(await statusOf("GET", `${path}/a/scale`)).toBe(404);
  });

  test("discovery, in both forms", async () => {
    const { resources } = await server.json<{ resources: { name: string }[] }>("GET", "/apis/example.com/v1");
    expect(resources).toMatchObject([
      { name: "widgets", singularName: "widget", kind: "Widget", shortNames: ["wd"], categories: ["all"] },
      { name: "widgets/status", kind: "Widget", verbs: ["get", "patch", "update"] },
    ]);
    const { groups } = await server.json<{ groups: { name: string }[] }>("GET", "/apis");
    expect(groups.map(({ name }) => name)).toContain("example.com");
    const aggregated = await server.call("GET", "/apis", { headers: { accept: aggregatedType } });
    expect(aggregated.text).toContain('"resource":"widgets"');
  });

  test("OpenAPI v2 and v3", async () => {
    const v3 = await server.json<{ paths: object; components: { schemas: Record<string, object> } }>(
      "GET",
      "/openapi/v3/apis/example.com/v1",
    );
    expect(Object.keys(v3.paths)).toContain("/apis/example.com/v1/namespaces/{namespace}/widgets/{name}");
    expect(v3.components.schemas["com.example.v1.WidgetSpec"]).toMatchObject({
      required: ["size"],
      properties: {
        size: { description: "Size of the widget." },
        color: { enum: ["blue", "red"] },
        parts: { "x-kubernetes-patch-merge-key": "name" },
      },
    });
    expect(v3.components.schemas).toHaveProperty(["com.example.v1.WidgetList"]);
    expect(v3.components.schemas).toHaveProperty(["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]);
    expect((await server.call("GET", "/openapi/v3")).text).toContain("apis/example.com/v1");
    expect((await server.call("GET", "/openapi/v2")).text).toContain("com.example.v1.WidgetSpec");
  });

  test("tables have the kind's columns", async () => {
    const response = await server.call("GET", path, { headers: { accept: tableType } });
    const { columnDefinitions, rows } = response.json<{
      columnDefinitions: { name: string }[];
      rows: { cells: unknown[] }[];
    }>();
    expect(columnDefinitions.map(({ name }) => name)).toEqual(["Name", "Size", "Color", "Age"]);
    expect(rows.map(({ cells }) => cells.slice(0, 3))).toEqual([
      ["a", 4, "blue"],
      ["red", 2, "red"],
    ]);
  });

  test("watches receive every change, and delete and deletecollection remove objects", async () => {
    const { resourceVersion } = await widgets().list();
    const events: string[] = [];
    const watched = (async () => {
      for await (const event of widgets().watch({ resourceVersion })) {
        if (event.type === "BOOKMARK") continue;
        events.push(`${event.type} ${event.object.metadata.name}`);
        if (events.length === 4) return;
      }
    })();
    await widgets().create(make("c"));
    await widgets().delete({ namespace: "default", name: "red" });
    await widgets().deleteCollection({ namespace: "default" });
    await watched;
    expect(events.slice(0, 2)).toEqual(["ADDED c", "DELETED red"]);
    expect(events.slice(2).sort()).toEqual(["DELETED a", "DELETED c"]);
    expect((await widgets().list()).items).toEqual([]);
  });

  test("metrics name the resource", async () => {
    const { text } = await server.call("GET", "/metrics");
    expect(text).toMatch(/apiserver_request_total\{[^}]*group="example\.com"[^}]*resource="widgets"/);
    expect(text).toMatch(/resource="widgets[^}]*\} 0/);
  });
});

describe("a kind that is removed while the server runs", () => {
  let ended: Promise<WatchEvent<Widget>[]>;

  beforeAll(async () => {
    const { metadata } = await widgets().create(make("kept", { size: 7 }));
    const resourceVersion = String(Number(metadata.resourceVersion) - 1);
    let seen = () => {};
    const started = new Promise<void>((resolve) => {
      seen = resolve;
    });
    ended = (async () => {
      const events: WatchEvent<Widget>[] = [];
      for await (const event of widgets().watch({ resourceVersion })) {
        events.push(event);
        seen();
      }
      return events;
    })();
    await started;
    kinds.remove(id);
  });

  test("ends its watches", async () => {
    expect((await ended).map(({ type }) => type)).toEqual(["ADDED"]);
  });

  test("is no longer served", expectUnserved);

  test("does not affect other kinds", async () => {
    expect((await client.list("namespaces")).items.length).toBeGreaterThan(0);
  });

  test("keeps its objects in the store and serves them when it is added again", async () => {
    await kinds.add(widgetKind);
    const kept = await widgets().get({ namespace: "default", name: "kept" });
    expect(kept.spec).toEqual({ size: 7, color: "blue" });
    const { resourceVersion } = await widgets().list();
    const next = (async () => {
      for await (const event of widgets().watch({ resourceVersion }))
        if (event.type !== "BOOKMARK") return event;
    })();
    await widgets().create(make("later"));
    expect(await next).toMatchObject({ type: "ADDED", object: { metadata: { name: "later" } } });
  });
});
