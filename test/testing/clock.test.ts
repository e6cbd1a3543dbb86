import { afterAll, beforeAll, expect, test } from "vitest";
import { startCluster, type TestCluster } from "../../src/testing/start-cluster.ts";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await startCluster({ nodes: 2 });
});
afterAll(() => cluster?.close());

const containers = [{ name: "c", image: "web:1" }];

test("objects have timestamps of the cluster's clock", async () => {
  const before = cluster.clock.now();
  await cluster.clock.advance("10m30s");
  expect(cluster.clock.now() - before).toBeGreaterThanOrEqual(10.5 * 60_000);
  const { metadata } = await cluster.client.create("configmaps", { metadata: { name: "late" } });
  expect(Date.parse(metadata.creationTimestamp ?? "")).toBeGreaterThan(before + 10 * 60_000);
});

test("running nodes stay ready when the clock is advanced far", async () => {
  const changes: (string | undefined)[] = [];
  const stop = new AbortController();
  const watching = (async () => {
    for await (const { object } of cluster.client.watch("nodes", { signal: stop.signal }))
      changes.push(object.status?.conditions?.find(({ type }) => type === "Ready")?.status);
  })().catch(() => {});
  await cluster.clock.advance("10m");
  stop.abort();
  await watching;
  expect(changes.length).toBeGreaterThan(0);
  expect(changes.filter((status) => status !== "True")).toEqual([]);
});

test("the back-off of a container that crashes", async () => {
  const { client, clock, faults } = cluster;
  faults.crash({ pod: "crashing" }, { exitCode: 3, times: 4 });
  await client.create("pods", { metadata: { name: "crashing" }, spec: { containers } });
  const restartsOf = (pod: { status?: { containerStatuses?: { restartCount: number }[] } }) =>
    pod.status?.containerStatuses?.[0]?.restartCount ?? 0;
  const waiting = await client.waitFor(
    "pods",
    "crashing",
    ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === "CrashLoopBackOff",
  );
  expect(restartsOf(waiting)).toBeLessThan(4);
  // 10, 20, 40 and 80 seconds.
  await clock.advance("3m");
  const running = await client.waitFor("pods", "crashing", "Ready");
  expect(restartsOf(running)).toBe(4);
  expect(running.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode).toBe(3);
});

test("activeDeadlineSeconds", async () => {
  const { client, clock } = cluster;
  await client.create("pods", {
    metadata: { name: "brief" },
    spec: { activeDeadlineSeconds: 600, containers },
  });
  await client.waitFor("pods", "brief", "Ready");
  await clock.advance("9m");
  expect((await client.get("pods", "brief")).status?.phase).toBe("Running");
  await clock.advance("2m");
  const { status } = await client.waitFor("pods", "brief", (pod) => pod.status?.phase === "Failed");
  expect(status?.reason).toBe("DeadlineExceeded");
});

test("a liveness probe that fails once a minute", async () => {
  const { client, clock, faults } = cluster;
  const livenessProbe = { httpGet: { port: 80 }, periodSeconds: 60, failureThreshold: 3 };
  await client.create("pods", {
    metadata: { name: "dying" },
    spec: { containers: [{ name: "c", image: "web:1", livenessProbe }] },
  });
  await client.waitFor("pods", "dying", "Ready");
  const fault = faults.failProbe({ pod: "dying", probe: "liveness" }, "too slow");
  await clock.advance("4m");
  fault.end();
  await client.waitFor(
    "pods",
    "dying",
    ({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) > 0,
  );
  const messages = async () =>
    (await client.list("events", { fieldSelector: "involvedObject.name=dying" })).map(
      ({ message }) => message,
    );
  await expect.poll(messages).toContain("Liveness probe failed: too slow");
});

test("a node with an expired lease loses its pods and recovers", async () => {
  const { client, clock, faults } = cluster;
  const labels = { app: "moving" };
  const spec = { nodeName: "node-1", containers };
  await client.create("pods", { metadata: { name: "moving", labels }, spec });
  await client.waitFor("pods", "moving", "Ready");
  const outage = await faults.nodeOutage("node-1");
  await clock.advance("2m");
  await client.waitFor("nodes", "node-1", "Ready=Unknown");
  await client.waitFor("nodes", "node-2", "Ready");
  expect((await client.get("pods", "moving")).metadata.deletionTimestamp).toBeUndefined();
  // Pods tolerate it for five minutes.
  await clock.advance("6m");
  await client.waitFor("pods", "moving", ({ metadata }) => metadata.deletionTimestamp !== undefined);
  await outage.end();
  await client.waitFor("nodes", "node-1", "Ready");
  await clock.advance("1m");
  await client.waitUntilGone("pods", "moving");
});

test.each(["soon", "5", -1, Number.POSITIVE_INFINITY])("%s is not moved by", async (wrong) => {
  await expect(cluster.clock.advance(wrong)).rejects.toThrow("duration: ");
});
