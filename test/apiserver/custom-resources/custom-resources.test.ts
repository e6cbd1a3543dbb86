import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CustomResourceDefinition } from "../../../src/api/custom/custom-resource-definition.ts";
import type { KubeObject } from "../../../src/api/meta/objects.ts";
import { toYaml } from "../../../src/apiserver/handlers/encoding/encode.ts";
import { startTestServer, type TestServer } from "../../support/servers/api-server.ts";
import {
  cronTab,
  cronTabDefinition,
  cronTabsPath,
  cronTabVersion,
  definitionsPath,
  establish,
  waitForCondition,
} from "./crontab.fixture.ts";

let server: TestServer;
let established: CustomResourceDefinition;

beforeAll(async () => {
  server = await startTestServer();
  established = await establish(server);
});
afterAll(() => server.close());

const tableType = "application/json;as=Table;v=v1;g=meta.k8s.io";
const merge = { "content-type": "application/merge-patch+json" };

async function create(spec: object, name = "x") {
  return server.call("POST", `${cronTabsPath}?dryRun=All`, { body: cronTab(name, spec) });
}

async function messageOf(spec: object): Promise<string> {
  const response = await create({ cronSpec: "*", ...spec });
  expect(response.status).toBe(422);
  return response
    .json<{ message: string }>()
    .message.replace('CronTab.stable.example.com "x" is invalid: ', "");
}

describe("a definition", () => {
  test("gets defaults, stored versions, accepted names and conditions", () => {
    expect(established).toMatchObject({
      metadata: { generation: 1 },
      spec: { names: { listKind: "CronTabList" }, conversion: { strategy: "None" } },
      status: {
        acceptedNames: { plural: "crontabs", kind: "CronTab", listKind: "CronTabList", shortNames: ["ct"] },
        storedVersions: ["v1"],
        conditions: [
          { type: "NamesAccepted", status: "True", reason: "NoConflicts", message: "no conflicts found" },
          { type: "Established", status: "True", reason: "InitialNamesAccepted" },
        ],
      },
    });
  });

  test.each([
    ["without a dot in the group", { group: "example" }, "should be a domain with at least one dot"],
    ["of an unknown scope", { scope: "World" }, 'spec.scope: Unsupported value: "World"'],
    ["without versions", { versions: [] }, "must have exactly one version marked as storage version"],
    [
      "without a schema",
      { versions: [cronTabVersion("v1", { schema: {} })] },
      "spec.versions[0].schema.openAPIV3Schema: Required value",
    ],
    [
      "with a schema that is not structural",
      {
        versions: [
          cronTabVersion("v1", { schema: { openAPIV3Schema: { type: "object", properties: { a: {} } } } }),
        ],
      },
      "spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields",
    ],
    [
      "with an invalid pattern",
      {
        versions: [
          cronTabVersion("v1", {
            schema: {
              openAPIV3Schema: { type: "object", properties: { a: { type: "string", pattern: "a(" } } },
            },
          }),
        ],
      },
      'pattern: Invalid value: "a(": must be a valid regular expression, but isn\'t: error parsing regexp: missing closing ): `a(`',
    ],
    [
      "with an invalid default",
      {
        versions: [
          cronTabVersion("v1", {
            schema: {
              openAPIV3Schema: { type: "object", properties: { a: { type: "string", default: 1 } } },
            },
          }),
        ],
      },
      'properties[a].default: Invalid value: "integer": ',
    ],
  ])("%s is rejected", async (_, parts, message) => {
    const response = await server.call("POST", definitionsPath, { body: cronTabDefinition(parts) });
    expect(response.status).toBe(422);
    expect(response.json<{ message: string }>().message).toContain(message);
  });
});

describe("objects", () => {
  test("are created with defaults, without unknown fields, and with a warning about these", async () => {
    const response = await server.call("POST", cronTabsPath, {
      body: {
        ...cronTab("a", { cronSpec: "* * * * *", foo: 1, note: null, image: null }),
        status: { phase: "x" },
      },
    });
    expect(response.status).toBe(201);
    const created = response.json<{ spec: object; status?: object; metadata: object }>();
    expect(created.spec).toEqual({ cronSpec: "* * * * *", note: null, image: "busybox", replicas: 1 });
    expect(created.status).toBeUndefined();
    expect(created.metadata).toMatchObject({ generation: 1, namespace: "default" });
    expect(response.headers.warning).toContain('unknown field \\"spec.foo\\"');
    const strict = await server.call("POST", `${cronTabsPath}?fieldValidation=Strict`, {
      body: cronTab("b", { cronSpec: "*", foo: 1 }),
    });
    expect(strict.status).toBe(400);
    expect(strict.text).toContain('strict decoding error: unknown field \\"spec.foo\\"');
  });

  test("are applied with a warning about duplicate keys, or rejected because of them", async () => {
    const body = `\n${toYaml(cronTab("dup", { cronSpec: "*" }))}  image: a\n  image: b\n`;
    const apply = (fieldValidation: string) => {
      const query = `fieldManager=t&dryRun=All&fieldValidation=${fieldValidation}`;
      const headers = { "content-type": "application/apply-patch+yaml" };
      return server.call("PATCH", `${cronTabsPath}/dup?${query}`, { headers, body });
    };
    const strict = await apply("Strict");
    expect(strict.json()).toMatchObject({
      code: 400,
      message:
        'error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  line 9: key "image" already set in map',
    });
    const warned = await apply("Warn");
    expect(warned.status).toBe(201);
    expect(warned.headers.warning).toContain('line 9: key \\"image\\" already set in map');
    expect((await apply("Ignore")).headers.warning).toBeUndefined();
  });

  test.each([
    [
      { replicas: "1" },
      '[spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string", .spec.replicas: Invalid value: 0: .spec.replicas accessor error: 1 is of the type string, expected int64]',
    ],
    [{ note: 1 }, 'spec.note: Invalid value: "integer": spec.note in body must be of type string: "integer"'],
    [
      { replicas: 11 },
      "spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to 10",
    ],
    [
      { cronSpec: "x" },
      "spec.cronSpec: Invalid value: \"x\": spec.cronSpec in body should match '^[-0-9*/, ]+$'",
    ],
    [{ image: "x".repeat(21) }, "spec.image: Too long: may not be more than 20 bytes"],
    [{ policy: "No" }, 'spec.policy: Unsupported value: "No": supported values: "Allow", "Forbid"'],
    [
      { port: true },
      'spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"',
    ],
    [{ tags: ["a", "b", "a"] }, 'spec.tags[2]: Duplicate value: "a"'],
    [{ steps: [{ name: "a" }, { name: "a" }] }, 'spec.steps[1]: Duplicate value: {"name":"a"}'],
    [{ steps: [{}] }, "spec.steps[0].name: Required value"],
    [{ template: { kind: "Pod" } }, "spec.template.apiVersion: Required value"],
  ])("%j is rejected with upstream's message", async (spec, message) => {
    expect(await messageOf(spec)).toBe(message);
  });

  test.each([{ port: 80 }, { port: "http" }, { free: { any: [1, { x: null }] } }, { note: null }])(
    "%j is accepted as it is",
    async (spec) => {
      const response = await create({ cronSpec: "*", ...spec });
      expect(response.json<{ spec: object }>().spec).toMatchObject(spec);
    },
  );

  test("that are nested too deeply are rejected, as are such schemas", async () => {
    const nested = (key: string, depth: number): object =>
      depth === 0 ? {} : { [key]: nested(key, depth - 1) };
    const object = await create({ cronSpec: "*", free: nested("a", 600) });
    expect({ status: object.status, text: object.text }).toMatchObject({
      status: 400,
      text: expect.stringContaining("exceeded max depth"),
    });
    const schema = { openAPIV3Schema: nested("not", 2_000) };
    const versions = [cronTabVersion("v1", { schema })];
    const definition = cronTabDefinition({ names: { plural: "deeps", kind: "Deep" }, versions });
    const response = await server.call("POST", definitionsPath, { body: definition });
    expect({ status: response.status, text: response.text }).toMatchObject({
      status: 400,
      text: expect.stringContaining("exceeded max depth"),
    });
  });

  test("are read, listed, selected by field, and printed as a table", async () => {
    await server.json("POST", cronTabsPath, cronTab("b", { cronSpec: "1", image: "other" }));
    const list = await server.json<{ kind: string; items: { metadata: { name: string } }[] }>(
      "GET",
      `${cronTabsPath}?fieldSelector=spec.image%3Dother`,
    );
    expect(list.kind).toBe("CronTabList");
    expect(list.items.map(({ metadata }) => metadata.name)).toEqual(["b"]);
    const table = await server.call("GET", cronTabsPath, { headers: { accept: tableType } });
    expect(table.json()).toMatchObject({
      columnDefinitions: [
        { name: "Name" },
        { name: "Spec", description: "When it runs" },
        { name: "Replicas" },
        { name: "Age" },
      ],
      rows: [
        { cells: ["a", "* * * * *", 1, expect.any(String)] },
        { cells: ["b", "1", 1, expect.any(String)] },
      ],
    });
  });

  test("are patched, and a strategic merge patch is rejected", async () => {
    const patched = await server.call("PATCH", `${cronTabsPath}/a`, {
      headers: merge,
      body: { spec: { replicas: 2, bar: 1 } },
    });
    expect(patched.json()).toMatchObject({ metadata: { generation: 2 }, spec: { replicas: 2 } });
    const strategic = await server.call("PATCH", `${cronTabsPath}/a`, {
      headers: { "content-type": "application/strategic-merge-patch+json" },
      body: {},
    });
    expect(strategic.status).toBe(415);
  });

  test("have a status and a scale", async () => {
    const status = await server.call("PATCH", `${cronTabsPath}/a/status`, {
      headers: merge,
      body: { spec: { replicas: 9 }, status: { replicas: 2, selector: "a=b" } },
    });
    expect(status.json()).toMatchObject({ spec: { replicas: 2 }, status: { replicas: 2 } });
    expect(await server.json("GET", `${cronTabsPath}/a/scale`)).toMatchObject({
      kind: "Scale",
      spec: { replicas: 2 },
      status: { replicas: 2, selector: "a=b" },
    });
    await server.call("PATCH", `${cronTabsPath}/a/scale`, {
      headers: merge,
      body: { spec: { replicas: 5 } },
    });
    expect(await server.json("GET", `${cronTabsPath}/a`)).toMatchObject({ spec: { replicas: 5 } });
  });
});

test("an update does not reject values that were invalid before and are unchanged", async () => {
  const versions = [
    cronTabVersion("v1", {
      schema: {
        openAPIV3Schema: {
          type: "object",
          properties: {
            spec: { type: "object", properties: { a: { type: "string" }, b: { type: "string" } } },
          },
        },
      },
    }),
  ];
  const definition = cronTabDefinition({ names: { plural: "looses", kind: "Loose" }, versions });
  versions[0] = { ...versions[0], selectableFields: [] } as (typeof versions)[0];
  const current = await establish(server, definition);
  const path = "/apis/stable.example.com/v1/namespaces/default/looses";
  await server.json("POST", path, { ...cronTab("a", { a: "long", b: "x" }), kind: "Loose" });
  const strict = structuredClone(current);
  const schema = strict.spec.versions?.[0];
  Object.assign(schema?.schema?.openAPIV3Schema?.properties?.spec?.properties ?? {}, {
    a: { type: "string", maxLength: 1 },
  });
  await server.json("PUT", `${definitionsPath}/looses.stable.example.com`, strict);
  const update = () => server.call("PATCH", `${path}/a`, { headers: merge, body: { spec: { b: "y" } } });
  await expect
    .poll(
      async () =>
        (await server.call("POST", path, { body: { ...cronTab("b", { a: "long" }), kind: "Loose" } })).status,
    )
    .toBe(422);
  expect((await update()).json()).toMatchObject({ spec: { a: "long", b: "y" } });
  const changed = await server.call("PATCH", `${path}/a`, {
    headers: merge,
    body: { spec: { a: "longer" } },
  });
  expect(changed.status).toBe(422);
});

test("OpenAPI v2 has no properties for a kind that preserves unknown fields, so that kubectl accepts all", async () => {
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const versions = [cronTabVersion("v1", { schema, subresources: {}, selectableFields: [] })];
  await establish(server, cronTabDefinition({ names: { plural: "frees", kind: "Free" }, versions }));
  const { definitions } = await server.json<{ definitions: object } & KubeObject>("GET", "/openapi/v2");
  expect(definitions).toHaveProperty(["com.example.stable.v1.Free"], {
    type: "object",
    "x-kubernetes-group-version-kind": [{ group: "stable.example.com", version: "v1", kind: "Free" }],
  });
});

describe("names", () => {
  test("that another definition of the group uses are not accepted until it is deleted", async () => {
    const definition = cronTabDefinition({ names: { plural: "others", kind: "CronTab" } });
    await server.json("POST", definitionsPath, definition);
    const name = "others.stable.example.com";
    const refused = await waitForCondition(server, name, "NamesAccepted", "False");
    expect(refused.status?.conditions).toMatchObject([
      { type: "NamesAccepted", reason: "ListKindConflict", message: '"CronTabList" is already in use' },
      { type: "Established", status: "False", reason: "NotAccepted", message: "not all names are accepted" },
    ]);
    expect((await server.call("GET", "/apis/stable.example.com/v1/others")).status).toBe(404);
    await server.json("DELETE", `${definitionsPath}/${name}`);
    await expect.poll(async () => (await server.call("GET", `${definitionsPath}/${name}`)).status).toBe(404);
  });
});

describe("a deleted definition", () => {
  test("deletes its objects, waits for their finalizers and is no longer served", async () => {
    const definition = cronTabDefinition({ names: { plural: "gones", kind: "Gone" } });
    await establish(server, definition);
    const path = "/apis/stable.example.com/v1/namespaces/default/gones";
    const gone = (name: string, finalizers?: string[]) => ({
      ...cronTab(name),
      kind: "Gone",
      metadata: { name, ...(finalizers && { finalizers }) },
    });
    await server.json("POST", path, gone("a"));
    await server.json("POST", path, gone("held", ["example.com/hold"]));
    const name = "gones.stable.example.com";
    await server.json("DELETE", `${definitionsPath}/${name}`);
    const terminating = await waitForCondition(server, name, "Terminating");
    expect(terminating.metadata.finalizers).toEqual(["customresourcecleanup.apiextensions.k8s.io"]);
    const refused = await server.call("POST", path, { body: gone("b") });
    expect({ status: refused.status, text: refused.text }).toMatchObject({
      status: 405,
      text: expect.stringContaining("create not allowed while custom resource definition is terminating"),
    });
    await expect.poll(async () => (await server.call("GET", `${path}/a`)).status).toBe(404);
    await server.call("PATCH", `${path}/held`, { headers: merge, body: { metadata: { finalizers: null } } });
    await expect.poll(async () => (await server.call("GET", `${definitionsPath}/${name}`)).status).toBe(404);
    await expect.poll(async () => (await server.call("GET", path)).status).toBe(404);
    expect((await server.call("GET", "/apis/stable.example.com/v1")).text).not.toContain("gones");
  });

  test("without a served version leaves no objects behind", async () => {
    const names = { plural: "hiddens", kind: "Hidden" };
    await establish(server, cronTabDefinition({ names }));
    const path = "/apis/stable.example.com/v1/namespaces/default/hiddens";
    await server.json("POST", path, { ...cronTab("a"), kind: "Hidden" });
    const definition = `${definitionsPath}/hiddens.stable.example.com`;
    const body = [{ op: "replace", path: "/spec/versions/0/served", value: false }];
    const headers = { "content-type": "application/json-patch+json" };
    expect((await server.call("PATCH", definition, { headers, body })).status).toBe(200);
    await expect.poll(async () => (await server.call("GET", path)).status).toBe(404);
    await server.json("DELETE", definition);
    await expect.poll(async () => (await server.call("GET", definition)).status).toBe(404);
    await establish(server, cronTabDefinition({ names }));
    expect((await server.json<{ items: unknown[] }>("GET", path)).items).toEqual([]);
  });
});
