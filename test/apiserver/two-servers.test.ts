import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { KubeObject } from "../../src/api/meta/objects.ts";
import { describeWithTool } from "../support/programs/tools.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";
import { type EtcdServer, startEtcd } from "../support/servers/etcd-server.ts";
import { openWatch } from "../support/servers/open-watch.ts";
import { startServerProcess } from "../support/servers/server-process.ts";

interface List {
  metadata: { resourceVersion: string; continue?: string };
  items: KubeObject[];
}

type Service = KubeObject & { spec: { clusterIP: string; ports: { nodePort: number }[] } };

const path = "/api/v1/namespaces/default/configmaps";
const names = ({ items }: List) => items.map(({ metadata }) => metadata.name);

describeWithTool("etcd", "two API servers on one etcd", () => {
  let etcd: EtcdServer;
  let first: TestServer;
  let second: TestServer;

  beforeAll(async () => {
    etcd = await startEtcd();
  });
  beforeEach(async () => {
    const store = { kind: "etcd", endpoints: [etcd.url] } as const;
    [first, second] = await Promise.all([startTestServer({ store }), startTestServer({ store })]);
  });
  afterEach(async () => {
    await Promise.all([first.close(), second.close()]);
  });
  afterAll(() => etcd.remove());

  const create = (server: TestServer, name: string) => server.json("POST", path, { metadata: { name } });

  test("a write acknowledged by one server is read from the other at once", async () => {
    for (let i = 0; i < 50; i++) {
      const created = await create(first, `read-${i}`);
      const read = await second.json("GET", `${path}/read-${i}`);
      expect(read.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
    }
    const removed = second.json("DELETE", `${path}/read-0`);
    await removed;
    expect((await first.call("GET", `${path}/read-0`)).status).toBe(404);
    const list = await first.json<List>("GET", path);
    expect(names(list).filter((name) => name?.startsWith("read-"))).toHaveLength(49);
  });

  test("a write through one is watched through the other, in one order", async () => {
    const { metadata } = await first.json<List>("GET", path);
    const query = `${path}?watch=true&resourceVersion=${metadata.resourceVersion}`;
    const watches = await Promise.all([openWatch(first, query), openWatch(second, query)]);
    const servers = [first, second];
    await Promise.all(Array.from({ length: 40 }, (_, i) => create(servers[i % 2] ?? first, `watched-${i}`)));
    const [seen, alsoSeen] = await Promise.all(watches.map((watch) => watch.until(40)));
    const versions = seen?.map(({ object }) => Number(object.metadata.resourceVersion)) ?? [];
    expect(versions).toEqual(versions.toSorted((a, b) => a - b));
    expect(alsoSeen).toEqual(seen);
    for (const watch of watches) watch.close();
  });

  test("the second of two updates from one version is a conflict on either server", async () => {
    const created = await create(first, "raced");
    await second.json("PUT", `${path}/raced`, { ...created, data: { by: "second" } });
    const late = await first.call("PUT", `${path}/raced`, { body: { ...created, data: { by: "first" } } });
    expect(late.status).toBe(409);
    expect((await first.call("POST", path, { body: { metadata: { name: "raced" } } })).status).toBe(409);
    expect(await first.json("GET", `${path}/raced`)).toMatchObject({ data: { by: "second" } });
  });

  test("applies all patches through both servers", async () => {
    await create(first, "patched");
    const servers = [first, second];
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        (servers[i % 2] ?? first).call("PATCH", `${path}/patched`, {
          body: { data: { [`k${i}`]: "v" } },
          headers: { "content-type": "application/merge-patch+json" },
        }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const { data } = await second.json<KubeObject & { data: object }>("GET", `${path}/patched`);
    expect(Object.keys(data)).toHaveLength(20);
  });

  test("a paginated list of one server continues on the other at the same revision", async () => {
    for (let i = 0; i < 6; i++) await create(first, `page-${i}`);
    const page = await first.json<List>("GET", `${path}?limit=3&labelSelector=`);
    await second.json("DELETE", `${path}/page-5`);
    const rest = await second.json<List>("GET", `${path}?continue=${page.metadata.continue}`);
    expect(rest.metadata.resourceVersion).toBe(page.metadata.resourceVersion);
    expect([...names(page), ...names(rest)].filter((name) => name?.startsWith("page-"))).toHaveLength(6);
  });

  test("services created through both servers at once have distinct addresses and ports", async () => {
    const services = await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        (i % 2 ? first : second).json<Service>("POST", "/api/v1/namespaces/default/services", {
          metadata: { name: `service-${i}` },
          spec: { type: "NodePort", ports: [{ port: 80 }] },
        }),
      ),
    );
    expect(new Set(services.map(({ spec }) => spec.clusterIP)).size).toBe(60);
    expect(new Set(services.map(({ spec }) => spec.ports[0]?.nodePort)).size).toBe(60);
    const wanted = services[0]?.spec.clusterIP;
    const taken = await second.call("POST", "/api/v1/namespaces/default/services", {
      body: { metadata: { name: "greedy" }, spec: { clusterIP: wanted, ports: [{ port: 80 }] } },
    });
    expect(taken.status).toBe(422);
    expect(taken.text).toContain("provided IP is already allocated");
  });

  test("a role binding created through one server is effective on the other", async () => {
    const asBob = { headers: { "impersonate-user": "bob" } };
    expect((await second.call("GET", "/api/v1/nodes", asBob)).status).toBe(403);
    await first.json("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
      metadata: { name: "bob" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "User", name: "bob" }],
    });
    await expect.poll(async () => (await second.call("GET", "/api/v1/nodes", asBob)).status).toBe(200);
  });

  test("with shared keys a token of one server is accepted by the other", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "kindling-keys-"));
    await cp(join(first.dataDir, "pki"), join(dataDir, "pki"), { recursive: true });
    const third = await startTestServer({ dataDir, store: { kind: "etcd", endpoints: [etcd.url] } });
    const { status } = await first.json<KubeObject & { status: { token: string } }>(
      "POST",
      "/api/v1/namespaces/default/serviceaccounts/default/token",
      {},
    );
    const headers = { authorization: `Bearer ${status.token}` };
    expect((await third.call("GET", "/api", { headers, anonymous: true })).status).toBe(200);
    expect((await second.call("GET", "/api", { headers, anonymous: true })).status).toBe(401);
    await third.close();
    await rm(dataDir, { recursive: true });
  });

  test("one server is killed, and the other continues", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "kindling-victim-"));
    const flags = ["--store", "etcd", "--etcd-endpoints", etcd.url, "--listen", "127.0.0.1:0"];
    const victim = await startServerProcess(["--data-dir", dataDir, ...flags]);
    const watch = await openWatch(second, `${path}?watch=true&labelSelector=alone`);
    await victim.json("POST", path, { metadata: { name: "last-words", labels: { alone: "" } } });
    victim.kill("SIGKILL");
    await victim.exit;
    victim.disconnect();
    await second.json("POST", path, { metadata: { name: "survivor", labels: { alone: "" } } });
    const seen = (await watch.until(2)).map(({ object }) => object.metadata.name);
    expect(seen).toEqual(["last-words", "survivor"]);
    expect((await second.call("GET", "/readyz")).status).toBe(200);
    watch.close();
    await rm(dataDir, { recursive: true });
  });

  test("both servers and a watch survive a restart of etcd", async () => {
    await first.json("POST", path, { metadata: { name: "before", labels: { lasting: "" } } });
    const watch = await openWatch(second, `${path}?watch=true&labelSelector=lasting`);
    await watch.until(1);
    await etcd.kill();
    const down = await first.call("GET", `${path}/nothing`);
    expect(down.status).toBeGreaterThanOrEqual(500);
    await etcd.restart();
    await expect
      .poll(
        async () =>
          (await first.call("POST", path, { body: { metadata: { name: "back", labels: { lasting: "" } } } }))
            .status,
      )
      .toBeLessThan(500);
    await expect.poll(async () => (await second.call("GET", `${path}/back`)).status).toBe(200);
    expect((await watch.until(2))[1]?.object.metadata.name).toBe("back");
    watch.close();
  });
});
