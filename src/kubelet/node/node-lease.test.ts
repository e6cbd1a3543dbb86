import { afterEach, beforeEach, expect, test } from "vitest";
import type { Lease, Node } from "../../api/meta/objects.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock, type ManualClock } from "../../lib/manual-clock.ts";
import { buildNode } from "./build-node.ts";
import { createFakeApi, nodeFacts, now } from "./node.fixture.ts";
import { runNodeLease } from "./node-lease.ts";

let api: ReturnType<typeof createFakeApi>;
let clock: ManualClock;
let stop: AbortController;
let ended: Promise<void>;
let node: Node | undefined;

beforeEach(() => {
  api = createFakeApi();
  clock = createManualClock(now);
  stop = new AbortController();
  const built = buildNode(nodeFacts());
  node = { ...built, metadata: { ...built.metadata, uid: "node-uid" } };
});

afterEach(async () => {
  stop.abort();
  await ended;
});

async function start(): Promise<void> {
  const { client } = api;
  ended = runNodeLease(
    { client, clock, logger: silentLogger, leaseDurationSeconds: 40, nodeName: "node-1", node: () => node },
    stop.signal,
  );
  await clock.advance(0);
}

const lease = () => api.objects.get("leases/node-1") as Lease | undefined;
const owner = { apiVersion: "v1", kind: "Node", name: "node-1", uid: "node-uid" };

test("creates the lease with the node as its owner", async () => {
  await start();
  expect(lease()).toMatchObject({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "node-1", namespace: "kube-node-lease", ownerReferences: [owner] },
    spec: {
      holderIdentity: "node-1",
      leaseDurationSeconds: 40,
      renewTime: "2022-12-06T15:33:47.000000Z",
    },
  });
});

test("renews the lease every ten seconds with one request", async () => {
  await start();
  api.calls.length = 0;
  await clock.advance(20_000);
  expect(api.calls).toEqual(["update leases", "update leases"]);
  expect(lease()?.spec?.renewTime).toBe("2022-12-06T15:34:07.000000Z");
});

test("adopts a lease from before a restart", async () => {
  api.keep("leases/node-1", {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "node-1", namespace: "kube-node-lease", labels: { mine: "yes" } },
  });
  await start();
  expect(api.calls).toEqual(["get leases", "update leases"]);
  expect(lease()?.metadata).toMatchObject({ labels: { mine: "yes" }, ownerReferences: [owner] });
});

test("adds the owner when the node is registered", async () => {
  const registered = node;
  node = undefined;
  await start();
  expect(lease()?.metadata.ownerReferences).toBeUndefined();
  node = registered;
  await clock.advance(10_000);
  expect(lease()?.metadata.ownerReferences).toEqual([owner]);
});

test("creates the lease again after a deletion", async () => {
  await start();
  api.objects.clear();
  await clock.advance(10_000);
  expect(lease()?.spec?.holderIdentity).toBe("node-1");
});

test("renews the lease after a conflict", async () => {
  await start();
  const current = lease();
  if (current)
    api.keep("leases/node-1", { ...current, metadata: { ...current.metadata, labels: { a: "b" } } });
  await clock.advance(10_000);
  expect(lease()).toMatchObject({
    metadata: { labels: { a: "b" } },
    spec: { renewTime: "2022-12-06T15:33:57.000000Z" },
  });
});

test("retries with a back-off while the API server is unavailable", async () => {
  await start();
  api.failure = new Error("away");
  api.calls.length = 0;
  await clock.advance(60_000);
  expect(api.calls.length).toBeGreaterThan(5);
  expect(api.calls.length).toBeLessThan(20);
  api.failure = undefined;
  await clock.advance(7_000);
  expect(Date.parse(lease()?.spec?.renewTime ?? "")).toBeGreaterThanOrEqual(now + 60_000);
});
