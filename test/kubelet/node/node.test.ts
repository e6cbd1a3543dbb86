import { afterEach, beforeEach, expect, test } from "vitest";
import type { Lease, Node } from "../../../src/api/meta/objects.ts";
import type { Client } from "../../../src/client/api/client.ts";
import { connectCluster } from "../../../src/client/api/create-client.ts";
import { answer, nodeOptions } from "../../../src/kubelet/node/node.fixture.ts";
import { runNodeLease } from "../../../src/kubelet/node/node-lease.ts";
import {
  createNodeStatusUpdater,
  type NodeStatusUpdater,
} from "../../../src/kubelet/node/node-status-updater.ts";
import { readMachine } from "../../../src/kubelet/node/read-machine.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { startTestServer, type TestServer } from "../../support/servers/api-server.ts";

let server: TestServer;
let client: Client;
let stop: AbortController;
let running: Promise<unknown>;

beforeEach(async () => {
  server = await startTestServer();
  client = await connectCluster({ kubeconfig: server.kubeconfig });
});

afterEach(async () => {
  await stopNode();
  client.close();
  await server.close();
});

function startNode(): NodeStatusUpdater {
  stop = new AbortController();
  const { version, status } = answer();
  const updater = createNodeStatusUpdater({
    client,
    cri: {
      runtime: { version: async () => version, status: async () => status },
      images: { listImages: async () => ({ images: [] }) },
    },
    clock: systemClock,
    logger: silentLogger,
    recorder: { record() {} },
    node: { ...nodeOptions, nodeIps: ["10.1.0.1", "fd00::1"], taints: [{ key: "a", effect: "NoSchedule" }] },
    readMachine: () => readMachine({ dataDir: "/" }),
    updateFrequencyMs: 50,
  });
  const lease = {
    client,
    clock: systemClock,
    logger: silentLogger,
    nodeName: "node-1",
    node: updater.node,
    leaseDurationSeconds: 40,
  };
  running = Promise.all([
    updater.run(stop.signal),
    updater.registered.then(() => runNodeLease(lease, stop.signal)),
  ]);
  return updater;
}

async function stopNode(): Promise<void> {
  stop.abort();
  await running;
}

async function nodeRequests(verb: string): Promise<number> {
  const { text } = await server.call("GET", "/metrics");
  return text
    .split("\n")
    .filter((line) => line.startsWith("apiserver_request_total{") && line.includes('resource="nodes"'))
    .filter((line) => line.includes(`verb="${verb}"`))
    .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

test("a node is ready with its first write, has a lease, and then writes nothing", async () => {
  const node = await startNode().registered;
  expect(node.status?.conditions?.at(-1)).toMatchObject({ type: "Ready", status: "True" });
  const leasePath = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1";
  await expect.poll(async () => (await server.call("GET", leasePath)).status).toBe(200);
  const lease = await server.json<Lease>("GET", leasePath);
  expect(lease.spec).toMatchObject({ holderIdentity: "node-1", leaseDurationSeconds: 40 });
  expect(lease.metadata.ownerReferences).toMatchObject([{ kind: "Node", uid: node.metadata.uid }]);
  await expect.poll(() => nodeRequests("GET")).toBeGreaterThan(3);
  expect(await nodeRequests("PATCH")).toBe(0);
});

test("a restarted kubelet takes over its node and writes nothing if nothing changed", async () => {
  await startNode().registered;
  await stopNode();
  const labels = { labels: { "kubernetes.io/os": "plan9", mine: "yes" } };
  const patch = (metadata: object) =>
    server.call("PATCH", "/api/v1/nodes/node-1", {
      body: { metadata, spec: { taints: null } },
      headers: { "content-type": "application/merge-patch+json" },
    });
  expect((await patch(labels)).status).toBe(200);
  const before = await nodeRequests("PATCH");
  const node = await startNode().registered;
  expect(node.metadata.labels).toMatchObject({ "kubernetes.io/os": "linux", mine: "yes" });
  expect(node.spec?.taints).toBeUndefined();
  expect(await nodeRequests("PATCH")).toBe(before + 1);
  await stopNode();
  await startNode().registered;
  expect(await nodeRequests("PATCH")).toBe(before + 1);
});

test("the node's status is restored after another client overwrites it, with addresses of both families", async () => {
  await startNode().registered;
  const status = {
    conditions: [{ type: "Ready", status: "Unknown" }],
    addresses: [{ type: "Hostname", address: "x" }],
  };
  await server.call("PATCH", "/api/v1/nodes/node-1/status", {
    body: { status },
    headers: { "content-type": "application/merge-patch+json" },
  });
  const statusOf = async () => (await server.json<Node>("GET", "/api/v1/nodes/node-1")).status;
  await expect.poll(statusOf).toMatchObject({
    conditions: expect.arrayContaining([expect.objectContaining({ type: "Ready", status: "True" })]),
    addresses: [
      { type: "InternalIP", address: "10.1.0.1" },
      { type: "InternalIP", address: "fd00::1" },
      { type: "Hostname", address: "node-1" },
    ],
  });
});
