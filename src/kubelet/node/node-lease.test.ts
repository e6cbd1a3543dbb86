import { afterEach, beforeEach, expect, test } from "vitest";
import type { Lease, Node } from "../../api/objects.ts";
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

test("is made, and belongs to the node", async () => {
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

test("is renewed every ten seconds, one request each", async () => {
  await start();
  api.calls.length = 0;
  await clock.advance(20_000);
  expect(api.calls).toEqual(["update leases", "update leases"]);
  expect(lease()?.spec?.renewTime).toBe("2022-12-06T15:34:07.000000Z");
});

test("one from before a restart is taken over", async () => {
  api.keep("leases/node-1", {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "node-1", namespace: "kube-node-lease", labels: { mine: "yes" } },
  });
  await start();
  expect(api.calls).toEqual(["get leases", "update leases"]);
  expect(lease()?.metadata).toMatchObject({ labels: { mine: "yes" }, ownerReferences: [owner] });
});

test("gets its owner once there is one", async () => {
  const registered = node;
  node = undefined;
  await start();
  expect(lease()?.metadata.ownerReferences).toBeUndefined();
  node = registered;
  await clock.advance(10_000);
  expect(lease()?.metadata.ownerReferences).toEqual([owner]);
});

test("is made again when it was deleted", async () => {
  await start();
  api.objects.clear();
  await clock.advance(10_000);
  expect(lease()?.spec?.holderIdentity).toBe("node-1");
});

test("somebody else's change is no obstacle", async () => {
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

test("an API server that is away is tried again, longer each time", async () => {
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
