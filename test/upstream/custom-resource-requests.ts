import type { OpenApiSchema } from "../../src/api/custom/open-api-schema.ts";
import {
  cronTab,
  cronTabDefinition,
  cronTabsPath,
  cronTabVersion,
  definitionsPath,
} from "../apiserver/custom-resources/crontab.fixture.ts";
import { get, patch, type Request, send, table } from "./request.ts";

function invalidSchema(name: string, schema: OpenApiSchema): Request {
  const version = cronTabVersion("v1", { schema: { openAPIV3Schema: schema } });
  const { subresources: _s, selectableFields: _f, additionalPrinterColumns: _c, ...plain } = version;
  const names = { plural: "others", kind: "Other" };
  return {
    ...send("POST", `${definitionsPath}?dryRun=All`, cronTabDefinition({ names, versions: [plain] })),
    name: `schema: ${name}`,
  };
}

const withProperty = (property: OpenApiSchema): OpenApiSchema => ({
  type: "object",
  properties: { a: property },
});

const schemas: [string, OpenApiSchema][] = [
  ["no type at the root", {}],
  ["other type at the root", { type: "array", items: { type: "string" } }],
  ["additionalProperties at the root", { type: "object", additionalProperties: { type: "string" } }],
  ["nullable at the root", { type: "object", nullable: true }],
  ["a field without a type", withProperty({})],
  ["an unknown type", withProperty({ type: "text" })],
  ["a list without items", withProperty({ type: "array" })],
  ["items without a type", withProperty({ type: "array", items: {} })],
  ["a type in anyOf", withProperty({ type: "string", anyOf: [{ type: "string" }] })],
  ["a description in allOf", withProperty({ type: "string", allOf: [{ description: "x" }] })],
  ["a field only in oneOf", withProperty({ type: "object", oneOf: [{ properties: { b: { minimum: 1 } } }] })],
  ["metadata in not", { type: "object", not: { properties: { metadata: { required: ["x"] } } } }],
  [
    "int-or-string in anyOf",
    withProperty({ "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] }),
  ],
  [
    "int-or-string and unknown fields",
    withProperty({ "x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true }),
  ],
  [
    "preserve unknown fields false",
    withProperty({ type: "object", "x-kubernetes-preserve-unknown-fields": false }),
  ],
  ["embedded without type", withProperty({ "x-kubernetes-embedded-resource": true })],
  ["embedded without properties", withProperty({ type: "object", "x-kubernetes-embedded-resource": true })],
  [
    "metadata with other fields",
    {
      type: "object",
      properties: { metadata: { type: "object", properties: { labels: { type: "object" } } } },
    },
  ],
  [
    "metadata with a name pattern",
    {
      type: "object",
      properties: { metadata: { type: "object", properties: { name: { type: "string", pattern: "^a" } } } },
    },
  ],
  ["uniqueItems", withProperty({ type: "array", uniqueItems: true, items: { type: "string" } })],
  [
    "properties and additionalProperties",
    withProperty({
      type: "object",
      properties: { b: { type: "string" } },
      additionalProperties: { type: "string" },
    }),
  ],
  ["an invalid pattern", withProperty({ type: "string", pattern: "a(" })],
  ["a lookahead", withProperty({ type: "string", pattern: "(?=a)" })],
  ["a default of the wrong type", withProperty({ type: "string", default: 1 })],
  [
    "a default with unknown fields",
    withProperty({ type: "object", properties: { b: { type: "string" } }, default: { c: "x" } }),
  ],
  ["a default below the minimum", withProperty({ type: "integer", minimum: 5, default: 1 })],
  ["a list type of a string", withProperty({ type: "string", "x-kubernetes-list-type": "set" })],
  [
    "an unknown list type",
    withProperty({ type: "array", items: { type: "string" }, "x-kubernetes-list-type": "bag" }),
  ],
  [
    "map without keys",
    withProperty({
      type: "array",
      "x-kubernetes-list-type": "map",
      items: { type: "object", properties: { k: { type: "string" } } },
    }),
  ],
  [
    "map with an optional key",
    withProperty({
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
      items: { type: "object", properties: { k: { type: "string" } } },
    }),
  ],
  [
    "map with an unknown key",
    withProperty({
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["z"],
      items: { type: "object", properties: { k: { type: "string" } } },
    }),
  ],
  [
    "keys without a list type",
    withProperty({
      type: "array",
      "x-kubernetes-list-map-keys": ["k"],
      items: { type: "object", properties: { k: { type: "string" } } },
    }),
  ],
  [
    "a set of objects",
    withProperty({
      type: "array",
      "x-kubernetes-list-type": "set",
      items: { type: "object", properties: { k: { type: "string" } } },
    }),
  ],
  ["an unknown map type", withProperty({ type: "object", "x-kubernetes-map-type": "bag" })],
  ["an unknown format", withProperty({ type: "string", format: "foo" })],
  ["$ref", withProperty({ type: "string", $ref: "#/x" })],
  ["items as an array", withProperty({ type: "array", items: [{ type: "string" }] })],
];

const invalidDefinitions: Request[] = [
  send("POST", definitionsPath, { ...cronTabDefinition(), metadata: { name: "wrong" } }),
  ...[
    { group: "nodots" },
    { group: "UPPER.example.com" },
    { group: "some.k8s.io" },
    { scope: "" },
    { scope: "World" },
    { names: { plural: "Others", kind: "Other" } },
    { names: { plural: "others", kind: "other thing" } },
    { names: { plural: "others", kind: "Other", listKind: "Other" } },
    { names: { plural: "others", kind: "Other", shortNames: ["A"], categories: ["B"] } },
    { preserveUnknownFields: true },
    { conversion: { strategy: "Magic" } },
    { conversion: { strategy: "Webhook" } },
    {
      conversion: {
        strategy: "Webhook",
        webhook: { conversionReviewVersions: ["v9"], clientConfig: { url: "http://x/y?z" } },
      },
    },
    {
      conversion: {
        strategy: "Webhook",
        webhook: {
          conversionReviewVersions: ["v1"],
          clientConfig: { service: { name: "", namespace: "", path: "x" } },
        },
      },
    },
  ].map((parts) =>
    send(
      "POST",
      `${definitionsPath}?dryRun=All`,
      cronTabDefinition({ names: { plural: "others", kind: "Other" }, ...parts }),
    ),
  ),
  ...[
    { name: "V1" },
    { deprecationWarning: "x" },
    { additionalPrinterColumns: [{ name: "", type: "text", jsonPath: "x", format: "y" }] },
    { additionalPrinterColumns: [{ name: "a", type: "", jsonPath: "" }] },
    { selectableFields: [{ jsonPath: ".spec.steps" }, { jsonPath: ".metadata.name" }] },
    {
      subresources: {
        scale: { specReplicasPath: "spec", statusReplicasPath: ".spec.x", labelSelectorPath: ".x" },
      },
    },
    { subresources: { scale: { specReplicasPath: "", statusReplicasPath: "" } } },
  ].map((parts) =>
    send(
      "POST",
      `${definitionsPath}?dryRun=All`,
      cronTabDefinition({
        names: { plural: "others", kind: "Other" },
        versions: [cronTabVersion("v1", parts)],
      }),
    ),
  ),
];

const dryPath = `${cronTabsPath}?dryRun=All`;
const specs: object[] = [
  {},
  { cronSpec: "*" },
  { cronSpec: 1 },
  { cronSpec: null },
  { cronSpec: "*", replicas: "1" },
  { cronSpec: "*", replicas: 1.5 },
  { cronSpec: "*", replicas: -1 },
  { cronSpec: "*", replicas: 11, image: "x".repeat(30) },
  { cronSpec: "x" },
  { cronSpec: "*", policy: "No" },
  { cronSpec: "*", policy: 1 },
  { cronSpec: "*", port: true },
  { cronSpec: "*", port: 1.5 },
  { cronSpec: "*", port: "http" },
  { cronSpec: "*", note: null, image: null },
  { cronSpec: "*", tags: ["a", "a", "a"] },
  { cronSpec: "*", tags: [1, null] },
  { cronSpec: "*", tags: "a" },
  { cronSpec: "*", steps: [{ name: "a" }, { name: "a" }] },
  { cronSpec: "*", steps: [{ seconds: 61 }] },
  { cronSpec: "*", steps: [null] },
  { cronSpec: "*", foo: { bar: 1 }, steps: [{ name: "a", extra: 1 }] },
  { cronSpec: "*", free: { any: [1, { x: null }] } },
  { cronSpec: "*", template: { kind: "Pod" } },
  { cronSpec: "*", template: { kind: "Pod", apiVersion: "v1", metadata: { labels: { a: 1 } } } },
  { cronSpec: "*", template: { kind: "Pod", apiVersion: "a/b/c", metadata: { name: "x/y", foo: 1 } } },
];

const malformed: Request[] = [
  send("POST", dryPath, { apiVersion: "stable.example.com/v1", metadata: { name: "x" } }),
  send("POST", dryPath, { kind: "CronTab", metadata: { name: "x" } }),
  send("POST", dryPath, { ...cronTab("x"), kind: "Other" }),
  send("POST", dryPath, { ...cronTab("x"), apiVersion: "other.example.com/v1" }),
  send("POST", dryPath, { ...cronTab("x"), spec: "text" }),
  send("POST", dryPath, { ...cronTab("X Y") }),
  send("POST", dryPath, { ...cronTab("x"), metadata: { name: "x", labels: { a: 1 } } }),
  send("POST", dryPath, { ...cronTab("x"), metadata: { name: "x", foo: 1 } }),
  send("POST", dryPath, {
    ...cronTab("x"),
    metadata: { name: "x", finalizers: ["a", "b.c", "example.com/d"] },
  }),
  send("POST", `${dryPath}&fieldValidation=Strict`, cronTab("x", { cronSpec: "*", foo: 1 })),
  send("POST", `${dryPath}&fieldValidation=Ignore`, cronTab("x", { cronSpec: "*", foo: 1 })),
];

/** Run in this order after both servers have established `crontabs.stable.example.com`. */
export const customResources: Record<string, readonly Request[]> = {
  schemas: schemas.map(([name, schema]) => invalidSchema(name, schema)),
  definitions: [...invalidDefinitions, get(`${definitionsPath}/crontabs.stable.example.com`)],
  validation: specs.map((spec) => send("POST", dryPath, cronTab("x", spec))),
  malformed,
  changes: [
    send("POST", cronTabsPath, { ...cronTab("a", { cronSpec: "*", foo: 1 }), status: { phase: "x" } }),
    send("POST", cronTabsPath, cronTab("a")),
    get(`${cronTabsPath}/a`),
    get(`${cronTabsPath}/b`),
    get(cronTabsPath, table),
    get(`${cronTabsPath}/a`, table),
    get(`${cronTabsPath}?fieldSelector=spec.image%3Dbusybox`),
    get(`${cronTabsPath}?fieldSelector=spec.cronSpec%3Dx`),
    get(`${cronTabsPath}/a/status`),
    get(`${cronTabsPath}/a/scale`),
    patch("merge", `${cronTabsPath}/a`, { spec: { replicas: 2, bar: 1 } }),
    patch("merge", `${cronTabsPath}/a`, { spec: { replicas: 20 } }),
    patch("merge", `${cronTabsPath}/a`, { spec: { cronSpec: null } }),
    patch("merge", `${cronTabsPath}/a`, { status: { phase: "x" } }),
    patch("json", `${cronTabsPath}/a`, [{ op: "replace", path: "/spec/replicas", value: 3 }]),
    patch("strategic-merge", `${cronTabsPath}/a`, { spec: { replicas: 2 } }),
    patch("merge", `${cronTabsPath}/a/status`, {
      spec: { replicas: 9 },
      status: { phase: "x", bar: 1, replicas: 2 },
    }),
    patch("merge", `${cronTabsPath}/a/status`, { status: { phase: 1 } }),
    patch("merge", `${cronTabsPath}/a/status`, {
      metadata: { labels: { a: "b" } },
      status: { replicas: -1 },
    }),
    get(`${cronTabsPath}/a`),
    patch("merge", `${cronTabsPath}/a/scale`, { spec: { replicas: 5 } }),
    patch("merge", `${cronTabsPath}/a/scale`, { spec: { replicas: -5 } }),
    send("PUT", `${cronTabsPath}/a`, cronTab("a")),
    send("PUT", `${cronTabsPath}/nope`, {
      ...cronTab("nope"),
      metadata: { name: "nope", resourceVersion: "1" },
    }),
    get("/apis/stable.example.com/v1"),
    get("/apis/stable.example.com"),
    get("/apis/stable.example.com/v2"),
    get("/apis/stable.example.com/v1/namespaces/default/nothing"),
    send("DELETE", `${cronTabsPath}/a`),
    send("DELETE", `${cronTabsPath}/a`),
    send("DELETE", cronTabsPath),
  ],
};
