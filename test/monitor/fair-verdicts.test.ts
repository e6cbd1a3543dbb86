import { afterEach, expect, test } from "vitest";
import { conditionOf } from "../../src/api/meta/object-facts.ts";
import type { ConfigMap } from "../../src/api/meta/objects.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { useMonitorCommand } from "../support/monitor/monitor-command.ts";
import { isReady, useSimulatedNode } from "../support/node/simulated-node.ts";
import { slowTest } from "../support/vitest/slow.ts";

const fixture = useSimulatedNode();
const startMonitorCommand = useMonitorCommand();
const containers = [{ name: "c", image: "web:1" }];
const startMonitor = (configuration: string) =>
  startMonitorCommand({
    kubeconfig: fixture.node.server.kubeconfig,
    folder: temporaryFolder(),
    configuration,
  });

// The monitor of the next test would count starts of these pods that end later.
afterEach(async () => {
  const { client } = fixture.node;
  await client.deleteCollection("pods", { namespace: "default" });
  await expect.poll(async () => (await client.list("pods", {})).items).toEqual([]);
});

test("3085-16: a pod that becomes ready and then crash-loops is a bad start, one that stays up a good one", async () => {
  const { node, given } = fixture;
  const { count, verdicts } = await startMonitor(
    "objectives: [{ name: starts, kind: success, deadline: 10m, target: 90% }]",
  );
  given({ match: { pod: "crashing" }, container: { exit: { code: 1, afterMs: 3_000 } } });
  await node.run("crashing", { containers });
  await node.run("healthy", { containers });
  await node.until("crashing", isReady);
  await expect.poll(verdicts).toEqual({ stuck: 0, abandoned: 0, bad: 1 });
  await expect.poll(() => count("kindling_slo_events_total", 'result="good"')).toBe(1);
  expect(await verdicts()).toMatchObject({ bad: 1 });
});

test("3085-12: a pod that refers to a missing key of a ConfigMap counts as a user error, not as stuck", async () => {
  const { node, given } = fixture;
  // Long enough for the kubelet to report the missing key first, also on a busy machine.
  const { count, verdicts } = await startMonitor("stuckAfterSeconds: 10");
  await node.client.create("configmaps", {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "settings", namespace: "default" },
    data: { present: "1" },
  } as ConfigMap);
  const items = [{ key: "absent", path: "absent" }];
  await node.run("no-key", {
    containers: [{ name: "c", image: "web:1", volumeMounts: [{ name: "v", mountPath: "/v" }] }],
    // Admission adds such a volume where service accounts exist.
    volumes: [
      { name: "v", configMap: { name: "settings", items } },
      { name: "kube-api-access-x7k2p", emptyDir: {} },
    ],
  });
  const userErrors = (labels: string) => count("kindling_pod_user_errors_total", labels);
  await expect.poll(() => userErrors('reason="MissingKey"')).toBe(1);
  expect(await userErrors('volumes="1"')).toBe(1);
  given({ match: { pod: "no-network" }, sandbox: { networkError: "no plugin" } });
  await node.run("no-network", { containers });
  await expect.poll(verdicts).toEqual({ stuck: 1, abandoned: 0, bad: 0 });
  expect(await count("kindling_pods_stuck_total", 'volumes="0"')).toBe(1);
});

slowTest(
  "3085-16: the time that scheduling gates hold a pod counts neither while it has them nor afterwards",
  async () => {
    const { node } = fixture;
    const { count, verdicts } = await startMonitor(`
stuckAfterSeconds: 20
objectives:
  - { name: success, kind: success, deadline: 20s, target: 90% }
  - { name: latency, kind: latency, measure: start, threshold: 20s, target: 90% }
`);
    const created = await node.run("gated", {
      containers,
      nodeName: undefined,
      schedulingGates: [{ name: "example.com/quota" }],
    });
    const createdMs = Date.parse(String(created.metadata.creationTimestamp));
    await expect.poll(() => Date.now() - createdMs).toBeGreaterThan(25_000);
    const key = { namespace: "default", name: "gated" };
    const removedSeconds = Math.floor(Date.now() / 1_000);
    await node.client.patch("pods", key, {
      patch: { kind: "merge", body: { spec: { schedulingGates: null } } },
    });
    await node.client.request("POST", "/api/v1/namespaces/default/pods/gated/binding", {
      body: {
        apiVersion: "v1",
        kind: "Binding",
        metadata: { name: "gated" },
        target: { kind: "Node", name: node.name },
      },
    });
    const ready = conditionOf(await node.until("gated", isReady), "Ready");
    const readySeconds = Date.parse(String(ready?.lastTransitionTime)) / 1_000;
    await expect
      .poll(() => count("kindling_slo_events_total", 'result="good"'), { timeout: 120_000 })
      .toBe(2);
    expect(await verdicts()).toEqual({ stuck: 0, abandoned: 0, bad: 0 });
    expect(await count("kindling_pod_start_seconds_count")).toBe(1);
    expect(await count("kindling_pod_start_seconds_sum")).toBeLessThanOrEqual(readySeconds - removedSeconds);
  },
);
