import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { hasTool } from "../support/programs/tools.ts";
import {
  type ApiClient,
  connectClient,
  startTestServer,
  type TestServer,
} from "../support/servers/api-server.ts";
import {
  startUpstreamServer,
  type UpstreamServer,
  upstreamProgram,
} from "../support/servers/upstream-server.ts";
import { patching, startWebhookServer, type WebhookServer } from "../support/servers/webhook-server.ts";
import { comparable } from "./comparable.ts";

const title = "admission webhooks are called as upstream calls them";
const isThere = upstreamProgram !== undefined && hasTool("etcd") && hasTool("kubectl");
const registration = "/apis/admissionregistration.k8s.io/v1";
const configMaps = "/api/v1/namespaces/hooks/configmaps";
const kinds = ["Mutating", "Validating"] as const;

/** JSON without the random part of generated names. */
function withoutNames(value: unknown): string {
  return JSON.stringify(value).replaceAll(/gen-\w{5}/g, "gen-xxxxx");
}

describe.runIf(isThere)(isThere ? title : `${title} [needs kube-apiserver on the PATH]`, () => {
  const folder = temporaryFolder();
  let upstream: UpstreamServer;
  let theirs: ApiClient;
  let ours: TestServer;
  let hooks: WebhookServer;

  beforeAll(async () => {
    hooks = await startWebhookServer(folder, {
      "/allow": () => ({ allowed: true, warnings: ["a warning", 'with "quotes"'] }),
      "/deny": () => ({ allowed: false }),
      "/deny-message": () => ({ allowed: false, status: { message: "no", code: 403, reason: "Forbidden" } }),
      "/label": () => patching({ op: "add", path: "/metadata/labels", value: { hook: "1" } }),
      "/status": () => patching({ op: "add", path: "/status", value: { phase: "Running" } }),
      "/unknown": () => patching({ op: "add", path: "/bogus", value: 1 }),
      "/bad-path": () => patching({ op: "add", path: "/missing/path", value: 1 }),
      "/bad-key": () => patching({ op: "remove", path: "/missing" }),
      "/bad-test": () => patching({ op: "test", path: "/kind", value: "Pod" }),
      "/bad-uid": () => ({ uid: "other", allowed: true }),
      "/no-type": () => ({ allowed: true, patch: "W10=" }),
      "/broken": () => ({ httpStatus: 500, body: "boom" }),
      "/missing": () => ({ httpStatus: 404 }),
      "/never": () => "never",
    });
    ours = await startTestServer();
    upstream = await startUpstreamServer(folder);
    const kubeconfig = await upstream.accessOf("admin", "system:masters");
    const { clusters } = parse(await readFile(kubeconfig, "utf8"));
    theirs = await connectClient(clusters[0].cluster.server, kubeconfig);
    for (const server of [ours, theirs])
      await server.json("POST", "/api/v1/namespaces", {
        metadata: { name: "hooks", labels: { hooks: "yes" } },
      });
  });
  afterAll(async () => {
    theirs?.disconnect();
    await ours?.close();
    await upstream?.stop();
    await hooks?.close();
  });

  const webhook = (path: string, parts: object) => ({
    name: "hook.example.com",
    clientConfig: hooks.clientConfig(path),
    rules: [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] }],
    namespaceSelector: { matchLabels: { hooks: "yes" } },
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    timeoutSeconds: 30,
    ...parts,
  });

  /** Runs requests under one webhook. Returns the responses, and what the webhook was sent. */
  async function under(
    server: Pick<ApiClient, "call" | "json">,
    type: (typeof kinds)[number],
    hook: object,
    run: (server: Pick<ApiClient, "call" | "json">) => Promise<unknown>,
  ) {
    const path = `${registration}/${type.toLowerCase()}webhookconfigurations`;
    const kind = `${type}WebhookConfiguration`;
    // A probe shows when a server applies the configuration, which takes a moment with upstream.
    const probe = {
      ...webhook("/deny", {}),
      name: "probe.example.com",
      rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["secrets"] }],
    };
    await server.json("POST", path, { kind, metadata: { name: "hooks" }, webhooks: [hook, probe] });
    const secret = { metadata: { generateName: "probe-" } };
    const isActive = async () =>
      (await server.call("POST", "/api/v1/namespaces/hooks/secrets?dryRun=All", { body: secret })).status >=
      400;
    await vi.waitUntil(isActive, { timeout: 30_000, interval: 100 });
    hooks.requests.length = 0;
    const result = await run(server);
    const reviews = hooks.requests
      .filter(({ path: called }) => called !== "/deny" || JSON.stringify(hook).includes("/deny"))
      .map(
        ({ request: { uid: _, userInfo: __, ...request } }) =>
          comparable({ status: 0, headers: {}, text: withoutNames(request) }).body,
      );
    await server.json("DELETE", `${path}/hooks`);
    const isGone = async () => !(await isActive());
    await vi.waitUntil(isGone, { timeout: 30_000, interval: 100 });
    return { result, reviews };
  }

  let round = 0;
  const life = async (server: Pick<ApiClient, "call" | "json">) => {
    const name = `map-${round}`;
    const results = [];
    const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { a: "1" } };
    const steps: [string, string, object?, Record<string, string>?][] = [
      ["POST", `${configMaps}?fieldManager=me&fieldValidation=Strict`, map],
      ["POST", `${configMaps}?dryRun=All`, { ...map, metadata: { generateName: "gen-" } }],
      [
        "PATCH",
        `${configMaps}/${name}`,
        { data: { b: "2" } },
        { "content-type": "application/merge-patch+json" },
      ],
      [
        "PATCH",
        `${configMaps}/${name}?fieldManager=applier&force=true`,
        { ...map, data: { a: "3" } },
        { "content-type": "application/apply-patch+yaml" },
      ],
      ["DELETE", `${configMaps}/${name}`, { propagationPolicy: "Background" }],
    ];
    for (const [method, path, body, headers] of steps) {
      const called = await server.call(method, path, { body, headers });
      results.push(JSON.parse(withoutNames(comparable(called))));
      // Upstream retries a write that it bases on an old object of its cache: wait until the cache has the new one.
      const { resourceVersion } = called.json<{ metadata?: { resourceVersion?: string } }>().metadata ?? {};
      if (resourceVersion)
        await server.call("GET", `${configMaps}/${name}?resourceVersion=${resourceVersion}`);
    }
    return results;
  };

  test.each(
    kinds.flatMap((type) =>
      [
        { path: "/allow" },
        { path: "/deny" },
        { path: "/deny-message" },
        { path: "/label" },
        { path: "/label", reinvocationPolicy: "IfNeeded" },
        { path: "/status" },
        { path: "/unknown" },
        { path: "/bad-path" },
        { path: "/bad-key" },
        { path: "/bad-test" },
        { path: "/bad-uid" },
        { path: "/no-type" },
        { path: "/broken" },
        { path: "/broken", failurePolicy: "Ignore" },
        { path: "/missing" },
        { path: "/allow", admissionReviewVersions: ["v1beta1"] },
        { path: "/never", timeoutSeconds: 1 },
        { path: "/allow", objectSelector: { matchLabels: { a: "b" } } },
        { path: "/allow", namespaceSelector: { matchLabels: { hooks: "no" } } },
      ]
        .filter(({ reinvocationPolicy }) => type === "Mutating" || !reinvocationPolicy)
        .map((parts) => ({ type, ...parts })),
    ),
  )("$type $path", async ({ type, path, ...parts }) => {
    round++;
    const hook = webhook(path, parts);
    const own = await under(ours, type, hook, life);
    expect(own).toEqual(await under(theirs, type, hook, life));
  });

  test.each<[expression: string | string[], failurePolicy?: string]>([
    ["true"],
    ["false"],
    [" request.operation == 'CREATE' "],
    ["request.operation != 'DELETE' && object.data.a == '1'"],
    ["object.data.b == '2'"],
    ["object.data.b == '2'", "Ignore"],
    [["object.data.b == '2'", "false", "object.x == 1"]],
    [["object.data.b == '2'", "object.data.c == '2'", "object.data.b == '2'", "true"]],
    [["object.data.b == '2'", "object.data.b == '2'"]],
    ["oldObject == null"],
    ["oldObject != null && oldObject.data.a == '1'"],
    ["object.metadata.name.startsWith('gen')"],
    ["request.name.startsWith('gen')"],
    ["has(request.name) && has(request.namespace) && request.namespace == 'hooks'"],
    ["has(object.metadata.creationTimestamp)"],
    ["has(object.metadata.uid) || has(object.metadata.generation)"],
    ["request.kind.kind == 'ConfigMap' && request.requestResource.resource == 'configmaps'"],
    ["request.resource.group == '' && !has(request.subResource)"],
    ["'system:masters' in request.userInfo.groups"],
    ["request.userInfo.uid == ''"],
    ["request.userInfo.extra.exists(key, key == 'x')"],
    ["request.dryRun"],
    ["request.options.fieldManager == 'me'"],
    ["has(request.options.kind) && request.options.kind == 'CreateOptions'"],
    ["namespaceObject.metadata.name == 'hooks'"],
    ["namespaceObject == null"],
    ["authorizer.requestResource.check('delete').allowed()"],
    ["authorizer.requestResource.check('delete').reason() == ''"],
    ["authorizer.path('/healthz').check('get').allowed()"],
    ["authorizer.serviceAccount('hooks', 'default').path('/healthz').check('get').allowed()"],
    ["authorizer.serviceAccount('hooks', 'default').group('').resource('pods').check('list').allowed()"],
    ["authorizer.serviceAccount('HOOKS', 'default').path('/').check('get').allowed()"],
    ["kubernetes.AdmissionRequest{name: 'a'}.name == 'a'"],
    ["object.data.all(key, object.data[key] < 5)"],
    ["lists.range(2000).all(x, lists.range(2000).all(y, x + y >= 0))"],
    ["lists.range(2000).all(x, lists.range(2000).all(y, x + y >= 0))", "Ignore"],
    [Array(6).fill("lists.range(300).all(x, lists.range(300).all(y, x + y >= 0))")],
    [Array(6).fill("lists.range(300).all(x, lists.range(300).all(y, x + y >= 0))"), "Ignore"],
  ])("match conditions %j %s", async (expressions, failurePolicy = "Fail") => {
    for (const type of kinds) {
      round++;
      const matchConditions = [expressions].flat().map((expression, i) => ({ name: `c${i}`, expression }));
      const hook = webhook("/label", { failurePolicy, matchConditions });
      const own = await under(ours, type, hook, life);
      expect(own).toEqual(await under(theirs, type, hook, life));
    }
  });

  const condition = (expression: string, name = "a") => ({ name, expression });

  test.each<[object[]]>([
    [[condition("true")]],
    [[{}]],
    [[condition("  ", "a b"), condition("true", "")]],
    [[condition("true", "x/y/z"), condition("true", "example.com/a"), condition("true", "-a")]],
    [[condition("true"), condition("false")]],
    [[condition("1")]],
    [[condition("object.a")]],
    [[condition(" object.a == ")]],
    [[condition("  'a' + 1 == 2\n && x")]],
    [[condition("params.a == 1 || variables.b")]],
    [[condition("request.object == null")]],
    [[condition("request.kind.name == '' && request.userInfo.extra.a == 1")]],
    [[condition("namespaceObject.metadata.labels.a == 1 && namespaceObject.metadata.uid == ''")]],
    [[condition("authorizer.check('get').allowed()")]],
    [[condition("authorizer.requestResource.allowed()")]],
    [[condition("'a'.matches('(')")]],
    [[condition("duration('x') == duration('1s')")]],
    [[condition("[object].map(x, x)")]],
    [[condition("request")]],
    [[condition("kubernetes.AdmissionRequest{name: 'a'}.name == 'a'")]],
    [[condition("url('x').getHost() == '' && ip('1.2.3.4') == ip('::1') && quantity('1').isInteger()")]],
    [Array.from({ length: 65 }, (_, i) => condition("true", `c${i}`))],
  ])("match conditions are validated alike: %j", async (matchConditions) => {
    for (const type of kinds) {
      const webhooks = [webhook("/allow", { matchConditions })];
      const body = { kind: `${type}WebhookConfiguration`, metadata: { name: "checked" }, webhooks };
      const path = `${registration}/${type.toLowerCase()}webhookconfigurations?dryRun=All`;
      const [own, other] = await Promise.all(
        [ours, theirs].map(async (server) => comparable(await server.call("POST", path, { body }))),
      );
      expect(own).toEqual(other);
    }
  });

  test("configurations are defaulted and validated alike", async () => {
    const configurations = [
      [{}],
      [webhook("/allow", {})],
      [webhook("/allow", { name: "a.b" }), webhook("/allow", {})],
      [webhook("/allow", {}), webhook("/allow", {})],
      [webhook("/allow", { sideEffects: "Some", timeoutSeconds: 0, failurePolicy: "x", matchPolicy: "y" })],
      [webhook("/allow", { clientConfig: { service: { name: "a", namespace: "", path: "x//y" } } })],
      [webhook("/allow", { clientConfig: { url: "http://u:p@host/?q=1#f" } })],
      [webhook("/allow", { clientConfig: { url: "https://a", service: { name: "a", namespace: "b" } } })],
      [webhook("/allow", { admissionReviewVersions: ["v9", "v9", "V_1"] })],
      [webhook("/allow", { rules: [{}] })],
      [
        webhook("/allow", {
          rules: [
            {
              operations: ["*", "READ"],
              apiGroups: ["*", ""],
              apiVersions: ["*", ""],
              resources: ["*", "pods", "pods/*", "pods/status", "*/*", ""],
              scope: "Other",
            },
          ],
        }),
      ],
      [webhook("/allow", { namespaceSelector: { matchExpressions: [{ key: "a b", operator: "In" }] } })],
    ];
    for (const type of kinds) {
      for (const webhooks of configurations) {
        const body = { kind: `${type}WebhookConfiguration`, metadata: { name: "checked" }, webhooks };
        const path = `${registration}/${type.toLowerCase()}webhookconfigurations?dryRun=All`;
        const [own, other] = await Promise.all(
          [ours, theirs].map(async (server) => comparable(await server.call("POST", path, { body }))),
        );
        expect(own).toEqual(other);
      }
    }
  });
});
