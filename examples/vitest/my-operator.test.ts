// Tests of an operator, chart or controller that need a cluster. They require only this package (see docs/testing.md) and
// vitest: the cluster runs in this process, and its pods are simulated.
import { startCluster, type TestCluster } from "kindling";
import { afterEach, beforeEach, expect, test } from "vitest";

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startCluster();
});
afterEach(() => cluster?.close());

test("a pod with a missing config map reports that it cannot start, and starts once the map exists", async () => {
  const { client } = cluster;
  await client.apply(`
    apiVersion: v1
    kind: Pod
    metadata: { name: web }
    spec:
      containers:
      - name: web
        image: example.com/web:1
        env:
        - name: GREETING
          valueFrom: { configMapKeyRef: { name: settings, key: greeting } }
  `);
  const failing = await client.waitFor("pods", "web", "FailingToStart");
  const condition = failing.status?.conditions?.find(({ type }) => type === "FailingToStart");
  expect(condition?.message).toContain('configmap "settings" not found');

  // Your operator would observe the condition and act here.
  await client.create("configmaps", { metadata: { name: "settings" }, data: { greeting: "hello" } });
  await cluster.clock.advance("1m");
  const ready = await client.waitFor("pods", "web", "Ready");
  expect(ready.metadata.uid).toBe(failing.metadata.uid);
  await client.waitFor("pods", "web", "FailingToStart=False");
});

test("a stalled pull is aborted and retried", async () => {
  const { client, clock, faults } = cluster;
  const stall = faults.stallPull({ image: "example.com/large:*" }, { size: "500Mi", at: "200Mi" });
  await client.create("pods", {
    metadata: { name: "large" },
    spec: { containers: [{ name: "large", image: "example.com/large:1" }] },
  });
  await expect.poll(async () => (await client.why("large")).because).toContain("200 of 500 MiB");

  // The kubelet aborts a pull after ten seconds without data.
  await clock.advance("11s");
  const stalled = await client.waitFor("pods", "large", ({ status }) =>
    ["ErrImagePull", "ImagePullBackOff"].includes(
      status?.containerStatuses?.[0]?.state?.waiting?.reason ?? "",
    ),
  );
  expect(stalled.status?.containerStatuses?.[0]?.state?.waiting?.message).toContain("no progress");

  stall.end();
  await clock.advance("1m");
  await client.waitFor("pods", "large", "Ready");
});

test("EnforcedRollingUpdate recovers a StatefulSet that is stuck with a broken image", async () => {
  const { client, clock, faults } = cluster;
  faults.crash({ image: "example.com/db:broken" });
  const manifest = (image: string) => `
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: { name: db }
    spec:
      replicas: 2
      serviceName: db
      updateStrategy: { type: EnforcedRollingUpdate }
      selector: { matchLabels: { app: db } }
      template:
        metadata: { labels: { app: db } }
        spec:
          terminationGracePeriodSeconds: 1
          containers: [{ name: db, image: "${image}" }]
  `;
  await client.apply(manifest("example.com/db:broken"));
  await client.waitFor(
    "pods",
    "db-0",
    ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === "CrashLoopBackOff",
  );

  // RollingUpdate would wait for db-0 forever.
  await client.apply(manifest("example.com/db:fixed"));
  await clock.advance("1m");
  await client.waitFor("statefulsets", "db", ({ status }) => status?.readyReplicas === 2);
  const pods = await client.list("pods", { labelSelector: "app=db" });
  expect(pods.map(({ spec }) => spec?.containers[0]?.image)).toEqual(Array(2).fill("example.com/db:fixed"));
});
