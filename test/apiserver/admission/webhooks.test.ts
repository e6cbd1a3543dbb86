import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { startTestServer, type TestServer } from "../../support/servers/api-server.ts";
import { patching, startWebhookServer, type WebhookServer } from "../../support/servers/webhook-server.ts";
import {
  cronTab,
  cronTabDefinition,
  cronTabVersion,
  establish,
} from "../custom-resources/crontab.fixture.ts";

const folder = temporaryFolder();
const registration = "/apis/admissionregistration.k8s.io/v1";
const configMaps = "/api/v1/namespaces/default/configmaps";

let server: TestServer;
let hooks: WebhookServer;
beforeAll(async () => {
  server = await startTestServer();
  hooks = await startWebhookServer(folder, {
    "/allow": () => ({ allowed: true, warnings: ["mind the step"] }),
    "/deny": () => ({ allowed: false, status: { message: "no entry", code: 418, reason: "Teapot" } }),
    "/label": () => patching({ op: "add", path: "/metadata/labels", value: { hook: "1" } }),
    "/data": () => patching({ op: "add", path: "/data", value: { hook: "1" }, from: "" }),
    "/unknown": () => patching({ op: "add", path: "/spec/bogus", value: true }),
    "/broken": () => ({ httpStatus: 500, body: "boom" }),
    "/moved": () => ({ httpStatus: 307, location: "https://127.0.0.1:1/" }),
    "/never": () => "never",
    "/count": ({ object }) => {
      const { data = {} } = object as { data?: Record<string, string> };
      const count = Number(data.count ?? 0) + 1;
      return patching({ op: "add", path: "/data", value: { ...data, count: String(count) } });
    },
  });
});
afterAll(async () => {
  await server.close();
  await hooks.close();
});
beforeEach(async () => {
  for (const plural of ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"])
    await server.json("DELETE", `${registration}/${plural}`);
  hooks.requests.length = 0;
});

interface HookParts {
  name?: string;
  path: string;
  [field: string]: unknown;
}

/** Creates a configuration with one webhook for each of the parts. */
async function configure(type: "Mutating" | "Validating", ...parts: HookParts[]) {
  const webhooks = parts.map(({ path, name = `${path.slice(1)}.example.com`, ...rest }) => ({
    name,
    clientConfig: hooks.clientConfig(path),
    rules: [{ operations: ["*"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }],
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    timeoutSeconds: 30,
    ...rest,
  }));
  const body = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: `${type}WebhookConfiguration`,
    metadata: { generateName: "hooks-" },
    webhooks,
  };
  const created = await server.call("POST", `${registration}/${type.toLowerCase()}webhookconfigurations`, {
    body,
  });
  expect(created.status, created.text).toBe(201);
  return created.json();
}

let count = 0;
const configMap = (parts: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: `map-${++count}` },
  ...parts,
});
const create = (body: object = configMap(), query = "") => server.call("POST", configMaps + query, { body });

describe("validating webhooks", () => {
  test("get the request and may add warnings", async () => {
    await configure("Validating", { path: "/allow" });
    const created = await create(configMap({ data: { a: "1" } }), "?fieldManager=me");
    expect(created.status).toBe(201);
    expect(created.headers.warning).toBe('299 - "mind the step"');
    const [{ request } = { request: undefined }] = hooks.requests;
    expect(request).toMatchObject({
      operation: "CREATE",
      kind: { group: "", version: "v1", kind: "ConfigMap" },
      resource: { group: "", version: "v1", resource: "configmaps" },
      namespace: "default",
      object: { data: { a: "1" }, metadata: { uid: expect.any(String) } },
      oldObject: null,
      dryRun: false,
      options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1", fieldManager: "me" },
      userInfo: { groups: expect.arrayContaining(["system:masters"]) },
    });
  });

  test("deny with their own status", async () => {
    await configure("Validating", { path: "/deny" });
    const denied = await create();
    expect({ status: denied.status, body: denied.json<object>() }).toMatchObject({
      status: 418,
      body: {
        message: 'admission webhook "deny.example.com" denied the request: no entry',
        reason: "Teapot",
      },
    });
  });

  test("see updates and deletes with the stored object", async () => {
    const created = await server.json<{ metadata: { name: string } }>("POST", configMaps, configMap());
    await configure("Validating", { path: "/allow" });
    const path = `${configMaps}/${created.metadata.name}`;
    await server.json("PUT", path, { ...created, data: { b: "2" } });
    await server.json("DELETE", path);
    const seen = hooks.requests.map(({ request }) => [
      request.operation,
      request.object?.data,
      request.oldObject?.data,
    ]);
    expect(seen).toEqual([
      ["UPDATE", { b: "2" }, undefined],
      ["DELETE", undefined, { b: "2" }],
    ]);
  });

  test.each([
    { name: "an error", path: "/broken", text: 'an error on the server (\\"boom\\") has prevented' },
    { name: "a redirect", path: "/moved", text: "responded with the status code 307" },
    { name: "no answer in time", path: "/never", text: "context deadline exceeded", timeoutSeconds: 1 },
  ])("fail the request after $name, unless failures are ignored", async ({ path, text, timeoutSeconds }) => {
    const parts = { path, ...(timeoutSeconds && { timeoutSeconds }) };
    await configure("Validating", parts);
    const failed = await create();
    expect(failed.status).toBe(500);
    expect(failed.text).toContain(
      `failed calling webhook \\"${path.slice(1)}.example.com\\": failed to call webhook: `,
    );
    expect(failed.text).toContain(text);
    await server.json("DELETE", `${registration}/validatingwebhookconfigurations`);
    await configure("Validating", { ...parts, failurePolicy: "Ignore" });
    expect((await create()).status).toBe(201);
  });

  test.each(["https://169.254.169.254/", "https://[fe80::1]/"])("are not called at %s", async (url) => {
    await configure("Validating", { path: "/allow", clientConfig: { url } });
    expect((await create()).text).toContain("address not allowed");
  });

  test("with side effects reject a dry run", async () => {
    const created = await configure("Validating", { path: "/allow" });
    expect((await create(configMap(), "?dryRun=All")).status).toBe(201);
    expect(hooks.requests.at(-1)?.request.dryRun).toBe(true);
    expect(created).toMatchObject({ webhooks: [{ failurePolicy: "Fail", matchPolicy: "Equivalent" }] });
  });

  test("are called for namespaces and objects that their selectors match", async () => {
    await configure(
      "Validating",
      { path: "/deny", name: "a.example.com", objectSelector: { matchLabels: { check: "yes" } } },
      {
        path: "/deny",
        name: "b.example.com",
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "other" } },
      },
    );
    expect((await create()).status).toBe(201);
    expect(
      (await create(configMap({ metadata: { name: "checked", labels: { check: "yes" } } }))).status,
    ).toBe(418);
  });

  test("never get the configurations of admission", async () => {
    const rules = [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] }];
    const broken = await configure("Validating", { path: "/deny", rules });
    expect((await create()).status).toBe(418);
    const path = `${registration}/validatingwebhookconfigurations/${broken.metadata.name}`;
    expect((await server.call("DELETE", path)).status).toBe(200);
    expect((await create()).status).toBe(201);
  });
});

describe("match conditions", () => {
  const conditions = (...expressions: string[]) => ({
    matchConditions: expressions.map((expression, i) => ({ name: `c${i}`, expression })),
  });

  test.each(["Mutating", "Validating"] as const)("select the requests of a %s webhook", async (type) => {
    await configure(type, {
      path: "/deny",
      ...conditions("request.operation == 'CREATE'", "object.data.check == 'yes'"),
      failurePolicy: "Ignore",
    });
    const statuses = [];
    for (const data of [{ check: "yes" }, { check: "no" }, { other: "" }])
      statuses.push((await create(configMap({ data }))).status);
    expect(statuses).toEqual([418, 201, 201]);
  });

  test("that fail reject the request, unless failures are ignored", async () => {
    await configure("Validating", { path: "/allow", ...conditions("object.data.check == 'yes'") });
    const rejected = await create(configMap({ metadata: { name: "unchecked" } }));
    expect(rejected.status).toBe(403);
    expect(rejected.json<{ message: string }>().message).toBe(
      `configmaps "unchecked" is forbidden: expression 'object.data.check == 'yes'' resulted in error: no such key: data`,
    );
    await server.json("DELETE", `${registration}/validatingwebhookconfigurations`);
    const ignoring = { path: "/deny", ...conditions("object.data.check == 'yes'"), failurePolicy: "Ignore" };
    await configure("Validating", ignoring);
    expect((await create()).status).toBe(201);
    expect(hooks.requests).toEqual([]);
  });

  test("can check what the user may do", async () => {
    const of = (account: string) =>
      `authorizer.serviceAccount('default', '${account}').group('').resource('configmaps').namespace('default').check('get').allowed()`;
    const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }];
    const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    await server.json("POST", `${rbac}/roles`, { metadata: { name: "reader" }, rules });
    await server.json("POST", `${rbac}/rolebindings`, {
      metadata: { name: "reader" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" },
      subjects: [{ kind: "ServiceAccount", name: "reader", namespace: "default" }],
    });
    await configure("Validating", { path: "/deny", ...conditions(of("other")) });
    expect((await create()).status).toBe(201);
    await configure("Validating", { path: "/deny", ...conditions(of("reader")) });
    expect((await create()).status).toBe(418);
  });

  test("apply after an update of the configuration", async () => {
    const created = await configure("Validating", { path: "/deny", ...conditions("false") });
    expect((await create()).status).toBe(201);
    const [webhook] = (created as unknown as { webhooks: object[] }).webhooks;
    const path = `${registration}/validatingwebhookconfigurations/${created.metadata.name}`;
    const invalid = await server.call("PUT", path, {
      body: { ...created, webhooks: [{ ...webhook, ...conditions("object.") }] },
    });
    expect(invalid.status).toBe(422);
    await server.json("PUT", path, { ...created, webhooks: [{ ...webhook, ...conditions("true") }] });
    expect((await create()).status).toBe(418);
  });

  test("are counted under upstream's names", async () => {
    const name = "counted.example.com";
    await configure("Validating", { path: "/deny", name, ...conditions("object.x == 1", "false") });
    await create();
    const metrics = (await server.call("GET", "/metrics")).text;
    const values = (suffix: string) =>
      metrics.split("\n").filter((line) => line.includes(`match_condition_${suffix}`) && line.includes(name));
    expect(values("evaluation_errors_total")).toEqual([
      `apiserver_admission_match_condition_evaluation_errors_total{name="${name}",kind="webhook",type="validating",operation="CREATE"} 1`,
    ]);
    expect(values("exclusions_total")).toEqual([
      `apiserver_admission_match_condition_exclusions_total{name="${name}",kind="webhook",type="validate",operation="CREATE"} 1`,
    ]);
    expect(values("evaluation_seconds_count")).toHaveLength(1);
  });
});

describe("mutating webhooks", () => {
  test("change the object, and do not own what they set", async () => {
    await configure("Mutating", { path: "/label" });
    const created = (await create()).json();
    expect(created.metadata.labels).toEqual({ hook: "1" });
    expect(JSON.stringify(created.metadata.managedFields ?? [])).not.toContain("hook");
    expect(hooks.requests[0]?.request.object?.metadata).not.toHaveProperty("uid");
  });

  test("do not see a generated name", async () => {
    await configure("Mutating", { path: "/label" });
    const created = (await create(configMap({ metadata: { generateName: "gen-" } }))).json();
    expect(created.metadata.name).toMatch(/^gen-/);
    expect(hooks.requests[0]?.request).not.toHaveProperty("name");
  });

  test("are called again after changes of later webhooks if they ask for it", async () => {
    await configure(
      "Mutating",
      { path: "/count", name: "first.example.com", reinvocationPolicy: "IfNeeded" },
      { path: "/label", name: "second.example.com" },
    );
    const created = (await create()).json<{ data: object }>();
    expect(hooks.requests.map(({ path }) => path)).toEqual(["/count", "/label", "/count"]);
    expect(created.data).toEqual({ count: "2" });
  });

  test("cannot change a deleted object", async () => {
    const created = await server.json<{ metadata: { name: string } }>("POST", configMaps, configMap());
    await configure("Mutating", { path: "/label" });
    const refused = await server.call("DELETE", `${configMaps}/${created.metadata.name}`);
    expect(refused.text).toContain(
      "attempted to modify the object, which is not supported for this operation",
    );
  });

  test("reuse connections", async () => {
    await configure("Mutating", { path: "/label" });
    await create();
    const before = hooks.connections();
    for (let i = 0; i < 5; i++) await create();
    expect(hooks.connections()).toBe(before);
  });

  test("get custom resources in the version that a rule names, and unknown fields are pruned", async () => {
    const versions = [cronTabVersion("v1"), cronTabVersion("v2", { storage: false })];
    await establish(server, cronTabDefinition({ versions }));
    const rules = [
      { operations: ["CREATE"], apiGroups: ["*"], apiVersions: ["v1"], resources: ["crontabs"] },
    ];
    await configure("Mutating", { path: "/unknown", rules });
    const path = "/apis/stable.example.com/v2/namespaces/default/crontabs";
    const body = cronTab("pruned", { cronSpec: "* * * * *" }, "v2");
    const created = await server.json<{ apiVersion: string; spec: object }>("POST", path, body);
    expect(hooks.requests[0]?.request).toMatchObject({
      kind: { group: "stable.example.com", version: "v1", kind: "CronTab" },
      requestKind: { version: "v2" },
      object: { apiVersion: "stable.example.com/v1" },
    });
    expect(created.apiVersion).toBe("stable.example.com/v2");
    expect(created.spec).not.toHaveProperty("bogus");
  });
});

test("calls are counted under upstream's names", async () => {
  await configure("Validating", { path: "/deny" });
  await create();
  const metrics = (await server.call("GET", "/metrics")).text;
  expect(metrics).toMatch(
    /apiserver_admission_webhook_rejection_count\{[^}]*name="deny.example.com"[^}]*error_type="no_error"[^}]*rejection_code="418"[^}]*\} \d+/,
  );
});
