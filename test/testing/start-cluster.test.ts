import { access, mkdtemp, readdir, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import {
  StatusError,
  startCluster,
  type TestCluster,
  WaitTimeoutError,
} from "../../src/testing/start-cluster.ts";

const podText = (name: string) => `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, labels: { app: ${name} } }
spec:
  containers:
  - name: c
    image: web:1
    readinessProbe: { httpGet: { path: /ready, port: 8080 }, periodSeconds: 1 }
`;

describe("a cluster", () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await startCluster({
      nodes: 2,
      objects: "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}",
    });
  });
  afterAll(() => cluster?.close());

  test("its kubeconfig has the server's URL, as a file and as text", async () => {
    const config = parse(cluster.kubeconfigText);
    expect(config.clusters[0].cluster.server).toBe(cluster.url);
    expect((await readdir(join(cluster.kubeconfig, ".."))).length).toBeGreaterThan(0);
    expect(await cluster.client.request("GET", "/version")).toHaveProperty("gitVersion");
  });

  test("every verb", async () => {
    const { client } = cluster;
    await client.waitFor("nodes", "node-2", "Ready");
    expect((await client.list("nodes")).map(({ metadata }) => metadata.name)).toEqual(cluster.nodes);
    const made = await client.create("configmaps", { metadata: { name: "cm" }, data: { a: "1" } });
    expect(made.metadata.namespace).toBe("default");
    await client.patch("configmaps", "cm", { data: { b: "2" } });
    await client.patch("configmaps", made, [{ op: "remove", path: "/data/a" }], { type: "json" });
    const changed = await client.get("configmaps", { namespace: "default", name: "cm" });
    expect(changed.data).toEqual({ b: "2" });
    await client.update("configmaps", { ...changed, data: { c: "3" } });
    const seen: string[] = [];
    for await (const { type, object } of client.watch("configmaps", { fieldSelector: "metadata.name=cm" })) {
      seen.push(`${type} ${JSON.stringify(object.data)}`);
      if (type === "ADDED") await client.delete("configmaps", object);
      else break;
    }
    expect(seen).toEqual(['ADDED {"c":"3"}', 'DELETED {"c":"3"}']);
    const gone = client.get("configmaps", "cm");
    await expect(gone).rejects.toThrow(StatusError);
    await expect(gone).rejects.toMatchObject({ code: 404, reason: "NotFound" });
  });

  test("a manifest is applied, and applied again with a change", async () => {
    const { client } = cluster;
    const deployment = (replicas: number) => `
apiVersion: v1
kind: ServiceAccount
metadata: { name: web, namespace: shop }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: shop }
spec:
  replicas: ${replicas}
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: c, image: "web:1" }] }
`;
    const [account] = await client.apply(deployment(1));
    expect(account).toMatchObject({ kind: "ServiceAccount", metadata: { name: "web", namespace: "shop" } });
    const web = { namespace: "shop", name: "web" };
    await client.waitFor("deployments", web, "Available");
    await client.apply(deployment(3));
    await client.waitFor("deployments", web, ({ status }) => status?.readyReplicas === 3);
    expect(await client.list("pods", { namespace: "shop", labelSelector: "app=web" })).toHaveLength(3);
  });

  test("a pod with a probe over HTTP becomes ready although nothing listens, and is gone after deletion", async () => {
    const { client } = cluster;
    await client.apply(podText("probed"));
    await client.waitFor("pods", "probed", "Ready");
    expect(await client.why("probed")).toMatchObject({ stage: "ready" });
    await client.delete("pods", "probed", { gracePeriodSeconds: 0 });
    await client.waitUntilGone("pods", "probed");
  });

  test("a wait that times out explains what the object waits for", async () => {
    const { client } = cluster;
    const env = [{ name: "X", valueFrom: { configMapKeyRef: { name: "missing", key: "k" } } }];
    const labels = { app: "stuck" };
    await client.create("statefulsets", {
      metadata: { name: "stuck" },
      spec: {
        serviceName: "stuck",
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "web:1", env }] } },
      },
    });
    await client.waitFor("pods", "stuck-0", "FailingToStart");
    const waiting = client.waitFor("statefulsets", "stuck", ({ status }) => status?.readyReplicas === 1, {
      timeout: "100ms",
    });
    await expect(waiting).rejects.toThrow(WaitTimeoutError);
    await expect(waiting).rejects.toThrow(
      /^statefulsets default\/stuck: not matching .* within 0.1 s\n {2}pod stuck-0 is creating: .*configmap "missing" not found/s,
    );
    await expect(waiting).rejects.toThrow(
      /does not resolve without a change.*kubectl create configmap missing/s,
    );
    await expect(client.waitFor("pods", "nobody", "Ready", { timeout: 50 })).rejects.toThrow(
      /^pods default\/nobody: not Ready within 0.05 s; pods "nobody" not found/,
    );
    await expect(client.waitFor("pods", "stuck-0", "is ready")).rejects.toThrow("is not a condition");
    await expect(
      client.waitFor("pods", "stuck-0", () => {
        throw new Error("of the test itself");
      }),
    ).rejects.toThrow("of the test itself");
  });
});

describe("afterwards nothing is left", () => {
  const counted = () => {
    const left: Record<string, number> = {};
    for (const name of process.getActiveResourcesInfo()) left[name] = (left[name] ?? 0) + 1;
    const { Timeout = 0, TCPSocketWrap = 0, TCPServerWrap = 0, ProcessWrap = 0 } = left;
    return { Timeout, TCPSocketWrap, TCPServerWrap, ProcessWrap };
  };
  let tmp = "";
  const { TMPDIR } = process.env;
  beforeAll(async () => {
    tmp = await mkdtemp(join(tmpdir(), "kindling-left-"));
    process.env.TMPDIR = tmp;
  });
  afterAll(async () => {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
    await rm(tmp, { recursive: true, force: true });
  });
  /** Besides what the test runner itself has: its own timers come and go. */
  async function expectNothingLeft(before: ReturnType<typeof counted>): Promise<void> {
    expect(await readdir(tmp)).toEqual([]);
    await expect
      .poll(() => {
        const now = counted();
        return Object.entries(before).filter(([name, count]) => now[name as keyof typeof now] > count);
      })
      .toEqual([]);
  }

  test("three clusters concurrently, with pods, a fault, a watch and an outage", async () => {
    const before = counted();
    const clusters = await Promise.all([startCluster(), startCluster({ nodes: 3 }), startCluster()]);
    expect(new Set(clusters.map(({ url }) => url)).size).toBe(3);
    const [first, second, third] = clusters;
    await first.client.apply(podText("here"));
    await first.client.waitFor("pods", "here", "Ready");
    expect(await second.client.list("pods")).toEqual([]);
    second.faults.slowVolume({}, Number.POSITIVE_INFINITY);
    await second.client.apply(podText("never"));
    await second.client.waitFor("pods", "never", "PodReadyToStartContainers=False");
    await third.faults.apiOutage();
    const watch = first.client.watch("pods")[Symbol.asyncIterator]();
    await watch.next();
    const ended = watch.next().then(
      () => "ended",
      () => "ended",
    );
    await Promise.all(clusters.map((cluster) => cluster.close()));
    await first.close();
    expect(await ended).toBe("ended");
    await expectNothingLeft(before);
    await expect(access(first.kubeconfig)).rejects.toThrow("ENOENT");
    for (const { url } of clusters) expect(await answers(Number(new URL(url).port))).toBe(false);
  });

  test("await using", async () => {
    const before = counted();
    {
      await using cluster = await startCluster();
      expect(await cluster.client.list("nodes")).toHaveLength(1);
    }
    await expectNothingLeft(before);
  });

  test("a start that fails at its port, and one that fails at its objects", async () => {
    const before = counted();
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const address = server.address();
    const port = typeof address === "object" && address ? address.port : 0;
    await expect(startCluster({ port, nodes: 2 })).rejects.toThrow(`port ${port} of 127.0.0.1 is in use`);
    await new Promise((resolve) => server.close(resolve));
    const objects = [{ apiVersion: "v1", kind: "Pod", metadata: { name: "Not A Name" }, spec: {} }];
    await expect(startCluster({ objects })).rejects.toMatchObject({ code: 422 });
    await expectNothingLeft(before);
  });

  function answers(port: number): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect({ host: "127.0.0.1", port }, () => {
        socket.destroy();
        resolve(true);
      });
      socket.once("error", () => resolve(false));
    });
  }
});
