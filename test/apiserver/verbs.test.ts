import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KubeObject, Node, Pod } from "../../src/api/objects.ts";
import type { Status } from "../../src/api/status-error.ts";
import { startTestServer, type TestServer } from "../support/api-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const configMaps = "/api/v1/namespaces/default/configmaps";
const pods = "/api/v1/namespaces/default/pods";

function configMap(name: string, data: Record<string, string> = {}, metadata: object = {}) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata }, data };
}

function pod(name: string, spec: object = {}) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { containers: [{ name: "c", image: "i" }], ...spec },
  };
}

async function fails(
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
): Promise<Status> {
  const response = await server.call(method, path, { body, headers });
  expect(response.status, response.text).toBeGreaterThanOrEqual(400);
  return response.json<Status>();
}

describe("create", () => {
  test("stamps uid, times and version, and answers 201", async () => {
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

  test("generates names", async () => {
    const created = await server.json(
      "POST",
      configMaps,
      configMap("", {}, { name: undefined, generateName: "gen-" }),
    );
    expect(created.metadata.name).toMatch(/^gen-[a-z0-9]{5}$/);
  });

  test("a second one of the name is refused", async () => {
    await server.json("POST", configMaps, configMap("twice"));
    expect(await fails("POST", configMaps, configMap("twice"))).toMatchObject({
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
    const status = await fails("POST", configMaps, body);
    expect(status).toMatchObject({
      kind: "Status",
      status: "Failure",
      code,
      message: expect.stringMatching(message),
    });
  });

  test("every broken rule is a cause with its field", async () => {
    const broken = pod("broken", { containers: [{ name: "C", image: "" }], restartPolicy: "Sometimes" });
    const status = await fails("POST", pods, broken);
    const fields = status.details?.causes?.map((cause) => cause.field);
    expect(status).toMatchObject({ code: 422, reason: "Invalid" });
    expect(fields).toEqual(expect.arrayContaining(["spec.containers[0].name", "spec.restartPolicy"]));
  });

  test("unknown fields: an error when strict, a warning by default", async () => {
    const body = { ...configMap("unknown"), colour: "red" };
    const strict = await fails("POST", `${configMaps}?fieldValidation=Strict`, body);
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
    expect(await fails("POST", configMaps, "x", { "content-type": "text/plain" })).toMatchObject({
      code: 415,
    });
  });
});

describe("update", () => {
  test("replaces, keeps what the server decides, and raises the version", async () => {
    const created = await server.json("POST", configMaps, configMap("put", { a: "1" }));
    const updated = await server.json<KubeObject & { data: object }>("PUT", `${configMaps}/put`, {
      ...created,
      metadata: { ...created.metadata, creationTimestamp: "2001-01-01T00:00:00Z" },
      data: { a: "2" },
    });
    expect(updated.data).toEqual({ a: "2" });
    expect(updated.metadata.creationTimestamp).toBe(created.metadata.creationTimestamp);
    expect(Number(updated.metadata.resourceVersion)).toBeGreaterThan(
      Number(created.metadata.resourceVersion),
    );
  });

  test("of an old version is a conflict", async () => {
    const created = await server.json("POST", configMaps, configMap("stale"));
    await server.json("PUT", `${configMaps}/stale`, { ...created, data: { a: "1" } });
    expect(await fails("PUT", `${configMaps}/stale`, { ...created, data: { a: "2" } })).toMatchObject({
      code: 409,
      reason: "Conflict",
      message: expect.stringContaining("the object has been modified"),
    });
  });

  test("that changes nothing keeps the version", async () => {
    const created = await server.json("POST", configMaps, configMap("same", { a: "1" }));
    const again = await server.json("PUT", `${configMaps}/same`, created);
    expect(again.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
  });

  test("of another uid is a conflict, of another name a bad request", async () => {
    const created = await server.json("POST", configMaps, configMap("uid"));
    const other = {
      ...created,
      metadata: { ...created.metadata, uid: "00000000-0000-0000-0000-000000000000" },
    };
    expect(await fails("PUT", `${configMaps}/uid`, other)).toMatchObject({
      code: 409,
      message: expect.stringContaining("UID in precondition"),
    });
    expect(await fails("PUT", `${configMaps}/uid`, configMap("other"))).toMatchObject({ code: 400 });
    expect(await fails("PUT", `${configMaps}/missing`, configMap("missing"))).toMatchObject({ code: 404 });
  });

  test("a node's old and new field for its pods' addresses agree, and are given once", async () => {
    const created = await server.json<Node>("POST", "/api/v1/nodes", { metadata: { name: "cidr" } });
    const put = (podCIDR: string) =>
      server.call("PUT", "/api/v1/nodes/cidr", {
        body: { ...created, metadata: { name: "cidr" }, spec: { podCIDR } },
      });
    expect((await put("10.1.0.0/24")).json<Node>().spec).toEqual({
      podCIDR: "10.1.0.0/24",
      podCIDRs: ["10.1.0.0/24"],
    });
    expect((await put("10.2.0.0/24")).json<Status>().message).toBe(
      'Node "cidr" is invalid: spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
    );
  });

  test("status is written through /status only", async () => {
    const created = await server.json<Pod>("POST", pods, pod("status"));
    const plain = await server.json<Pod>("PUT", `${pods}/status`, {
      ...created,
      status: { phase: "Running" },
    });
    expect(plain.status?.phase).toBe("Pending");
    const status = await server.json<Pod>("PUT", `${pods}/status/status`, {
      ...created,
      metadata: { ...created.metadata, labels: { not: "taken" } },
      spec: { ...created.spec, nodeName: "n" },
      status: { phase: "Running" },
    });
    expect(status.status?.phase).toBe("Running");
    expect(status.spec?.nodeName).toBeUndefined();
  });
});

describe("patch", () => {
  const patch = (path: string, type: string, body: unknown) =>
    server.call("PATCH", path, { body, headers: { "content-type": `application/${type}+json` } });

  test.each([
    { type: "merge-patch", body: { data: { a: null, b: "2" } }, data: { b: "2" } },
    { type: "strategic-merge-patch", body: { data: { b: "2" } }, data: { a: "1", b: "2" } },
    { type: "json-patch", body: [{ op: "replace", path: "/data/a", value: "9" }], data: { a: "9" } },
  ])("$type", async ({ type, body, data }) => {
    await server.json("POST", configMaps, configMap(type, { a: "1" }));
    const response = await patch(`${configMaps}/${type}`, type, body);
    expect(response.status, response.text).toBe(200);
    expect(response.json()).toMatchObject({ data });
    expect(response.json<{ data: object }>().data).toEqual(data);
  });

  test("strategic merge knows the merge key of containers", async () => {
    await server.json(
      "POST",
      pods,
      pod("smp", {
        containers: [
          { name: "a", image: "1" },
          { name: "b", image: "1" },
        ],
      }),
    );
    const body = { spec: { containers: [{ name: "b", image: "2" }] } };
    const patched = (await patch(`${pods}/smp`, "strategic-merge-patch", body)).json<Pod>();
    expect(patched.spec?.containers.map(({ name, image }) => `${name}:${image}`)).toEqual(["a:1", "b:2"]);
  });

  test("concurrent patches all land", async () => {
    await server.json("POST", configMaps, configMap("racy"));
    const keys = Array.from({ length: 30 }, (_, i) => `k${i}`);
    const answers = await Promise.all(
      keys.map((key) => patch(`${configMaps}/racy`, "merge-patch", { data: { [key]: "v" } })),
    );
    expect(answers.map((answer) => answer.status)).toEqual(keys.map(() => 200));
    const { data } = await server.json<{ data: object }>("GET", `${configMaps}/racy`);
    expect(Object.keys(data).sort()).toEqual([...keys].sort());
  });

  test("an unknown kind of patch is 415", async () => {
    expect((await patch(`${configMaps}/racy`, "other-patch", {})).status).toBe(415);
  });
});

describe("delete", () => {
  test("removes at once and says what", async () => {
    const created = await server.json("POST", configMaps, configMap("gone"));
    expect(await server.json("DELETE", `${configMaps}/gone`)).toMatchObject({
      kind: "Status",
      status: "Success",
      details: { name: "gone", kind: "configmaps", uid: created.metadata.uid },
    });
    expect(await fails("GET", `${configMaps}/gone`)).toMatchObject({ code: 404, reason: "NotFound" });
  });

  test("waits for finalizers, and the last one off removes it", async () => {
    await server.json("POST", configMaps, configMap("held", {}, { finalizers: ["kindling.dev/test"] }));
    const marked = await server.json("DELETE", `${configMaps}/held`);
    expect(marked.metadata.deletionTimestamp).toBeDefined();
    await server.json("PUT", `${configMaps}/held`, {
      ...marked,
      metadata: { ...marked.metadata, finalizers: [] },
    });
    expect((await server.call("GET", `${configMaps}/held`)).status).toBe(404);
  });

  test("a pod on a node gets its grace period; without grace it goes at once", async () => {
    await server.json("POST", pods, pod("graceful", { nodeName: "n", terminationGracePeriodSeconds: 7 }));
    const marked = await server.json("DELETE", `${pods}/graceful`);
    expect(marked.metadata).toMatchObject({ deletionGracePeriodSeconds: 7 });
    expect((await server.call("GET", `${pods}/graceful`)).status).toBe(200);
    await server.json("DELETE", `${pods}/graceful`, { gracePeriodSeconds: 0 });
    expect((await server.call("GET", `${pods}/graceful`)).status).toBe(404);
  });

  test("a grace period as long as a number can be is a date that clients can read", async () => {
    const gracePeriodSeconds = Number.MAX_SAFE_INTEGER;
    await server.json("POST", pods, pod("patient", { nodeName: "n" }));
    const marked = await server.json("DELETE", `${pods}/patient`, { gracePeriodSeconds });
    expect(marked.metadata).toMatchObject({
      deletionGracePeriodSeconds: gracePeriodSeconds,
      deletionTimestamp: "9999-12-31T23:59:59Z",
    });
    const sooner = await server.json("DELETE", `${pods}/patient`, { gracePeriodSeconds: 5 });
    expect(sooner.metadata).toMatchObject({ deletionGracePeriodSeconds: 5 });
  });

  test("preconditions that do not hold are a conflict", async () => {
    await server.json("POST", configMaps, configMap("precondition"));
    expect(
      await fails("DELETE", `${configMaps}/precondition`, { preconditions: { uid: "other" } }),
    ).toMatchObject({ code: 409 });
  });

  test("of a collection takes what the selector matches", async () => {
    for (const [name, app] of [
      ["c1", "x"],
      ["c2", "x"],
      ["c3", "y"],
    ] as const) {
      await server.json("POST", configMaps, configMap(name, {}, { labels: { app } }));
    }
    await server.json("DELETE", `${configMaps}?labelSelector=app%3Dx`);
    const left = await Promise.all(
      ["c1", "c2", "c3"].map((name) => server.call("GET", `${configMaps}/${name}`)),
    );
    expect(left.map((response) => response.status)).toEqual([404, 404, 200]);
  });
});

describe("paths", () => {
  test.each([
    ["GET", "/api/v1/nope", 404],
    ["GET", "/apis/apps/v9/things", 404],
    ["GET", `${configMaps}/missing`, 404],
    ["POST", `${configMaps}/named`, 405],
    ["GET", `${configMaps}/x/nope`, 404],
    ["GET", "/api/v1/namespaces/%zz/pods", 400],
    ["GET", "/api/v1/pods/x", 404],
    ["POST", "/api/v1/pods", 405],
    ["DELETE", "/api/v1/pods", 405],
    ["DELETE", "/api/v1/namespaces", 405],
    ["OPTIONS", `${configMaps}/x`, 405],
  ])("%s %s is %i", async (method, path, code) => {
    const response = await server.call(method, path, method === "POST" ? { body: {} } : {});
    expect(response.status).toBe(code);
    expect(response.json<Status>()).toMatchObject({ kind: "Status", status: "Failure", code });
  });

  test.each(["/nope", "/apis/nope.io/v1/things"])("%s is nobody's", async (path) => {
    expect(await server.call("GET", path)).toMatchObject({ status: 404, text: "404 page not found\n" });
  });
});

test("the kubernetes service comes back when it is deleted", async () => {
  const path = "/api/v1/namespaces/default/services/kubernetes";
  const before = await server.json("GET", path);
  await server.json("DELETE", path);
  await expect.poll(async () => (await server.call("GET", path)).status).toBe(200);
  const after = await server.json<KubeObject & { spec: object }>("GET", path);
  expect(after.metadata.uid).not.toBe(before.metadata.uid);
  expect(after.spec).toMatchObject({ clusterIP: "10.96.0.1" });
});
