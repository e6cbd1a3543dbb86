import { expect, test } from "vitest";
import { configMap, configMaps, pod, pods, useSharedServer } from "../support/shared-server.ts";

const server = useSharedServer();

test("create stamps uid, times and version, and answers 201", async () => {
  const response = await server.call("POST", configMaps, { body: configMap("stamped") });
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
    configMap("", {}, { name: undefined, generateName: "gen-" }),
  );
  expect(created.metadata.name).toMatch(/^gen-[a-z0-9]{5}$/);
});

test("a second one of the name is refused", async () => {
  await server.json("POST", configMaps, configMap("twice"));
  expect(await server.fails("POST", configMaps, configMap("twice"))).toMatchObject({
    code: 409,
    reason: "AlreadyExists",
    message: 'configmaps "twice" already exists',
    details: { name: "twice", kind: "configmaps" },
  });
});

test("a dry run validates and keeps nothing", async () => {
  const created = await server.json("POST", `${configMaps}?dryRun=All`, configMap("dry"));
  expect(created.metadata.uid).toBeDefined();
  expect((await server.call("GET", `${configMaps}/dry`)).status).toBe(404);
});

test.each([
  {
    name: "another namespace",
    body: configMap("x", {}, { namespace: "other" }),
    code: 400,
    message: /does not match the namespace/,
  },
  {
    name: "a version",
    body: configMap("x", {}, { resourceVersion: "5" }),
    code: 400,
    message: /resourceVersion should not be set/,
  },
  {
    name: "a bad name",
    body: configMap("Bad_Name"),
    code: 422,
    message: /metadata.name: Invalid value: "Bad_Name"/,
  },
  {
    name: "another kind",
    body: { ...configMap("x"), kind: "Secret" },
    code: 400,
    message: /cannot be handled as a ConfigMap/,
  },
  { name: "no JSON", body: "{", code: 400, message: /unrecognized/ },
  { name: "a wrong type", body: configMap("x", [] as never), code: 400, message: /cannot unmarshal array/ },
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
  const broken = pod("broken", { containers: [{ name: "C", image: "" }], restartPolicy: "Sometimes" });
  const status = await server.fails("POST", pods, broken);
  const fields = status.details?.causes?.map((cause) => cause.field);
  expect(status).toMatchObject({ code: 422, reason: "Invalid" });
  expect(fields).toEqual(expect.arrayContaining(["spec.containers[0].name", "spec.restartPolicy"]));
});

test("unknown fields: an error when strict, a warning by default", async () => {
  const body = { ...configMap("unknown"), colour: "red" };
  const strict = await server.fails("POST", `${configMaps}?fieldValidation=Strict`, body);
  expect(strict.message).toContain('strict decoding error: unknown field "colour"');
  const warned = await server.call("POST", configMaps, { body });
  expect(warned.status).toBe(201);
  expect(warned.headers.warning).toContain('unknown field \\"colour\\"');
  expect(warned.json()).not.toHaveProperty("colour");
});

test("an answer that the client cannot read is refused before anything is written", async () => {
  const response = await server.call("POST", configMaps, {
    body: configMap("unread"),
    headers: { accept: "image/png" },
  });
  expect(response.status).toBe(406);
  expect((await server.call("GET", `${configMaps}/unread`)).status).toBe(404);
});

test("YAML is taken, anything else is 415", async () => {
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
