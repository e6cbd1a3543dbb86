import { afterAll, beforeAll, expect, test } from "vitest";
import type { KubeObject, ResourceQuota } from "../../src/api/meta/objects.ts";
import { createTestControllers, type TestControllers } from "../support/cluster/run-controllers.ts";
import { createKubectl } from "../support/kubectl/kubectl.ts";
import { describeWithTool, hasTool } from "../support/programs/tools.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";
import { type EtcdServer, startEtcd } from "../support/servers/etcd-server.ts";

const creators = 64;

describeWithTool("etcd", "resource quotas of two API servers on one etcd", () => {
  let etcd: EtcdServer;
  let first: TestServer;
  let second: TestServer;
  let controllers: TestControllers;

  beforeAll(async () => {
    etcd = await startEtcd();
    const store = { kind: "etcd", endpoints: [etcd.url] } as const;
    first = await startTestServer({ store });
    second = await startTestServer({ store });
    controllers = createTestControllers(first.kubeconfig, { enabled: new Set(["resourcequota-controller"]) });
    await controllers.startControllers();
  });
  afterAll(async () => {
    await controllers.stopControllers();
    await Promise.all([first.close(), second.close()]);
    await etcd.remove();
  });

  const path = (namespace: string, rest: string) => `/api/v1/namespaces/${namespace}/${rest}`;
  const readQuota = (namespace: string) =>
    first.json<ResourceQuota>("GET", path(namespace, "resourcequotas/limits"));
  const untilUsed = (namespace: string) =>
    expect.poll(async () => (await readQuota(namespace)).status?.used, { timeout: 30_000 });

  /** Creates a namespace with a quota and waits until both servers enforce it. */
  async function createQuota(namespace: string, spec: object, used: object): Promise<void> {
    await first.json("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
    await first.json("POST", path(namespace, "resourcequotas"), { metadata: { name: "limits" }, spec });
    await untilUsed(namespace).toEqual(used);
    const enforced = () =>
      Promise.all(
        [first, second].map(async (server) => {
          const { items } = await server.json<{ items: ResourceQuota[] }>(
            "GET",
            `${path(namespace, "resourcequotas")}?resourceVersion=0`,
          );
          return items[0]?.status?.used;
        }),
      );
    await expect.poll(enforced, { timeout: 30_000 }).toEqual([used, used]);
  }

  async function createAll(namespace: string, prefix: string): Promise<string[]> {
    const servers = [first, second];
    const responses = await Promise.all(
      Array.from({ length: creators }, (_, i) =>
        (servers[i % 2] ?? first).call("POST", path(namespace, "configmaps"), {
          body: { metadata: { name: `${prefix}-${i}` } },
        }),
      ),
    );
    const rejected = responses.filter(({ status }) => status !== 201);
    for (const response of rejected) {
      expect(response.status).toBe(403);
      expect(response.json<{ message: string }>().message).toMatch(
        /^configmaps ".+" is forbidden: exceeded quota: limits, requested: count\/configmaps=1, used: count\/configmaps=11, limited: count\/configmaps=11$/,
      );
    }
    return responses.flatMap(({ status }, i) => (status === 201 ? `${prefix}-${i}` : []));
  }

  test("never exceeds the limit with 64 concurrent creators, also after deletions", async () => {
    const namespace = "crowded";
    const spec = { hard: { "count/configmaps": "11" } };
    // The namespace has the root CA.
    await createQuota(namespace, spec, { "count/configmaps": "1" });
    const created = await createAll(namespace, "a");
    expect(created).toHaveLength(10);

    for (const name of created.slice(0, 3))
      await second.json("DELETE", path(namespace, `configmaps/${name}`));
    await untilUsed(namespace).toEqual({ "count/configmaps": "8" });
    expect(await createAll(namespace, "b")).toHaveLength(3);
    expect((await readQuota(namespace)).status).toEqual({
      hard: { "count/configmaps": "11" },
      used: { "count/configmaps": "11" },
    });

    if (hasTool("kubectl")) {
      const described = await createKubectl(second.kubeconfig).ok(`describe quota limits -n ${namespace}`);
      expect(described).toMatch(/^count\/configmaps +11 +11$/m);
    }
  });

  test("refunds a write that fails after it was charged", async () => {
    const namespace = "refunded";
    await createQuota(namespace, { hard: { configmaps: "5" } }, { configmaps: "1" });
    await first.json("POST", path(namespace, "configmaps"), { metadata: { name: "one" } });
    const again = await first.call("POST", path(namespace, "configmaps"), {
      body: { metadata: { name: "one" } },
    });
    expect(again.status).toBe(409);
    await untilUsed(namespace).toEqual({ configmaps: "2" });
  });

  test("counts custom resources", async () => {
    const group = "example.com";
    const names = { plural: "widgets", kind: "Widget" };
    const schema = { openAPIV3Schema: { type: "object" } };
    await first.json("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      metadata: { name: `widgets.${group}` },
      spec: {
        group,
        names,
        scope: "Namespaced",
        versions: [{ name: "v1", served: true, storage: true, schema }],
      },
    });
    const namespace = "custom";
    const counted = "count/widgets.example.com";
    await createQuota(namespace, { hard: { [counted]: "1" } }, { [counted]: "0" });
    const widgets = `/apis/${group}/v1/namespaces/${namespace}/widgets`;
    const widget = (name: string) => ({ apiVersion: `${group}/v1`, kind: "Widget", metadata: { name } });
    await first.json("POST", widgets, widget("one"));
    const rejected = await first.call("POST", widgets, { body: widget("two") });
    expect(rejected.json<{ message: string }>().message).toBe(
      `widgets.example.com "two" is forbidden: exceeded quota: limits, requested: ${counted}=1, used: ${counted}=1, limited: ${counted}=1`,
    );
    await first.json("DELETE", `${widgets}/one`);
    await untilUsed(namespace).toEqual({ [counted]: "0" });
    await first.json<KubeObject>("POST", widgets, widget("two"));
  });

  test("requires requests that a quota limits, and frees what a finished pod used", async () => {
    const namespace = "pods";
    const none = { pods: "0", "requests.cpu": "0" };
    await createQuota(namespace, { hard: { pods: "2", "requests.cpu": "1" } }, none);
    const pod = (name: string, resources: object) => ({
      metadata: { name },
      spec: { containers: [{ name: "main", image: "a", resources }] },
    });
    const create = (name: string, resources: object) =>
      first.call("POST", path(namespace, "pods"), { body: pod(name, resources) });
    const vague = await create("vague", {});
    expect(vague.json<{ message: string }>().message).toBe(
      'pods "vague" is forbidden: failed quota: limits: must specify requests.cpu for: main',
    );
    expect((await create("one", { requests: { cpu: "600m" } })).status).toBe(201);
    const large = await create("two", { requests: { cpu: "500m" } });
    expect(large.json<{ message: string }>().message).toBe(
      'pods "two" is forbidden: exceeded quota: limits, requested: requests.cpu=500m, used: requests.cpu=600m, limited: requests.cpu=1',
    );
    const finished = await first.json<KubeObject>("GET", path(namespace, "pods/one"));
    await first.json("PUT", path(namespace, "pods/one/status"), {
      ...finished,
      status: { phase: "Succeeded" },
    });
    await untilUsed(namespace).toEqual(none);
  });
});
