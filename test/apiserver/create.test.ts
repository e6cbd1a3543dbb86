import { expect, test } from "vitest";
import { makeConfigMap } from "../support/manifests/config-map.ts";
import { makePod } from "../support/manifests/pod.ts";
import { configMaps, pods, useSharedServer } from "../support/servers/shared-server.ts";

const server = useSharedServer();

test("create sets uid, timestamp and version, and returns 201", async () => {
  const response = await server.call("POST", configMaps, { body: makeConfigMap("stamped") });
  expect(response.status).toBe(201);
  expect(response.json()).toMatchObject({
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: {
      name: "stamped",
      namespace: "default",
      uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      resourceVersion: expect.stringMatching(/^\d+$/),
    },
  });
});

test("create generates names", async () => {
  const created = await server.json(
    "POST",
    configMaps,
    makeConfigMap("", { name: undefined, generateName: "gen-" }),
  );
  expect(created.metadata.name).toMatch(/^gen-[a-z0-9]{5}$/);
});

test("rejects a second object of the same name", async () => {
  await server.json("POST", configMaps, makeConfigMap("twice"));
  expect(await server.fails("POST", configMaps, makeConfigMap("twice"))).toMatchObject({
    code: 409,
    reason: "AlreadyExists",
    message: 'configmaps "twice" already exists',
    details: { name: "twice", kind: "configmaps" },
  });
});

test("a dry run validates and stores nothing", async () => {
  const created = await server.json("POST", `${configMaps}?dryRun=All`, makeConfigMap("dry"));
  expect(created.metadata.uid).toBeDefined();
  expect((await server.call("GET", `${configMaps}/dry`)).status).toBe(404);
});

test.each([
  {
    name: "another namespace",
    body: makeConfigMap("x", { namespace: "other" }),
    code: 400,
    message: /does not match the namespace/,
  },
  {
    name: "a version",
    body: makeConfigMap("x", { resourceVersion: "5" }),
    code: 400,
    message: /resourceVersion should not be set/,
  },
  {
    name: "a bad name",
    body: makeConfigMap("Bad_Name"),
    code: 422,
    message: /metadata.name: Invalid value: "Bad_Name"/,
  },
  {
    name: "another kind",
    body: { ...makeConfigMap("x"), kind: "Secret" },
    code: 400,
    message: /cannot be handled as a ConfigMap/,
  },
  { name: "no JSON", body: "{", code: 400, message: /unrecognized/ },
  {
    name: "a wrong type",
    body: makeConfigMap("x", { data: [] as never }),
    code: 400,
    message: /cannot unmarshal array/,
  },
])("$name is refused with what is wrong", async ({ body, code, message }) => {
  const status = await server.fails("POST", configMaps, body);
  expect(status).toMatchObject({
    kind: "Status",
    status: "Failure",
    code,
    message: expect.stringMatching(message),
  });
});

test("every broken rule is a cause with its field", async () => {
  const broken = makePod("broken", { containers: [{ name: "C", image: "" }], restartPolicy: "Sometimes" });
  const status = await server.fails("POST", pods, broken);
  const fields = status.details?.causes?.map((cause) => cause.field);
  expect(status).toMatchObject({ code: 422, reason: "Invalid" });
  expect(fields).toEqual(expect.arrayContaining(["spec.containers[0].name", "spec.restartPolicy"]));
});

test("unknown fields: an error when strict, a warning by default", async () => {
  const body = { ...makeConfigMap("unknown"), colour: "red" };
  const strict = await server.fails("POST", `${configMaps}?fieldValidation=Strict`, body);
  expect(strict.message).toContain('strict decoding error: unknown field "colour"');
  const warned = await server.call("POST", configMaps, { body });
  expect(warned.status).toBe(201);
  expect(warned.headers.warning).toContain('unknown field \\"colour\\"');
  expect(warned.json()).not.toHaveProperty("colour");
});

test("returns 406 before anything is written", async () => {
  const response = await server.call("POST", configMaps, {
    body: makeConfigMap("unread"),
    headers: { accept: "image/png" },
  });
  expect(response.status).toBe(406);
  expect((await server.call("GET", `${configMaps}/unread`)).status).toBe(404);
});

test("accepts YAML and returns 415 for other media types", async () => {
  const yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: from-yaml\n";
  const taken = await server.call("POST", configMaps, {
    body: yaml,
    headers: { "content-type": "application/yaml" },
  });
  expect(taken.status).toBe(201);
  expect(await server.fails("POST", configMaps, "x", { "content-type": "text/plain" })).toMatchObject({
    code: 415,
  });
});

test("a review is not acceptable as a table, because it has none", async () => {
  const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const body = { spec: { resourceAttributes: { verb: "get", resource: "pods" } } };
  const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
  expect(await server.call("POST", reviews, { body, headers })).toMatchObject({ status: 406 });
  expect(await server.call("POST", reviews, { body })).toMatchObject({ status: 201 });
});
