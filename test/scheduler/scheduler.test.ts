import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { makeNode, namespace, useSchedulerCluster } from "../support/cluster/scheduler-cluster.ts";

const cluster = useSchedulerCluster();
const { conditionOf, createPod, eventsOf, getPod, nodeOf, startScheduler, untilBound, untilRefused } =
  cluster;

const boundPods = async () =>
  (await cluster.client.list("pods", { namespace })).items.filter(({ spec }) => spec?.nodeName);

describe("a pod", () => {
  test("is bound, with a condition and an event", async () => {
    await cluster.client.create("nodes", makeNode("a"));
    startScheduler();
    await createPod("web");
    await untilBound("web");
    expect(await conditionOf("web")).toMatchObject({ status: "True" });
    await expect
      .poll(() => eventsOf("web", "Scheduled"))
      .toMatchObject([
        {
          type: "Normal",
          message: "Successfully assigned default/web to a",
          source: { component: "default-scheduler" },
        },
      ]);
  });

  test("that fits no node reports the reason once, and is bound when a node is added", async () => {
    await cluster.client.create("nodes", makeNode("small", {}, "1"));
    await cluster.client.create(
      "nodes",
      makeNode("tainted", { taints: [{ key: "gpu", effect: "NoSchedule" }] }),
    );
    startScheduler();
    await createPod("web", { cpu: "2" });
    await untilRefused("web", "0/2 nodes");
    expect(await conditionOf("web")).toMatchObject({
      status: "False",
      reason: "Unschedulable",
      message:
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
      observedGeneration: 1,
    });
    await expect
      .poll(() => eventsOf("web", "FailedScheduling"))
      .toMatchObject([{ type: "Warning", count: 1 }]);
    const { resourceVersion } = (await getPod("web")).metadata;
    await delay(200);
    expect((await getPod("web")).metadata.resourceVersion).toBe(resourceVersion);

    await cluster.client.create("nodes", makeNode("large"));
    await untilBound("web");
    expect(await nodeOf("web")).toBe("large");
  });

  test("is bound when another pod frees resources", async () => {
    await cluster.client.create("nodes", makeNode("a"));
    startScheduler();
    await createPod("first", { cpu: "2" });
    await untilBound("first");
    await createPod("second", { cpu: "2" });
    await untilRefused("second", "1 Insufficient cpu");
    await cluster.client.delete("pods", { namespace, name: "first" }, { gracePeriodSeconds: 0 });
    await untilBound("second");
  });

  test("is bound when the pod of its affinity term is scheduled", async () => {
    await cluster.client.create("nodes", makeNode("a"));
    startScheduler();
    const term = { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "db" } } };
    await createPod("near", {
      affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
    });
    await untilRefused("near", "1 node(s) didn't match pod affinity rules");
    await createPod("db", { labels: { app: "db" } });
    await untilBound("near");
  });

  test("that another scheduler binds at the same moment keeps its node and its condition", async () => {
    await cluster.client.create("nodes", makeNode("a"));
    for (let i = 0; i < 2; i++) startScheduler();
    const names = Array.from({ length: 60 }, (_, i) => `p${i}`);
    await Promise.all(names.map((name) => createPod(name)));
    await expect.poll(async () => (await boundPods()).length).toBe(names.length);
    await delay(300);
    const { items } = await cluster.client.list("pods", { namespace });
    const conditions = items.flatMap(({ status }) => status?.conditions ?? []);
    const scheduled = conditions.filter(({ type }) => type === "PodScheduled");
    expect(scheduled.map(({ status }) => status)).toEqual(names.map(() => "True"));
  });

  test("with scheduling gates waits until they are removed", async () => {
    await cluster.client.create("nodes", makeNode("a"));
    startScheduler();
    await createPod("gated", { schedulingGates: [{ name: "example.com/wait" }] });
    await createPod("free");
    await untilBound("free");
    expect(await conditionOf("gated")).toMatchObject({ status: "False", reason: "SchedulingGated" });
    await cluster.client.patch(
      "pods",
      { namespace, name: "gated" },
      { patch: { kind: "json", body: [{ op: "remove", path: "/spec/schedulingGates" }] } },
    );
    await untilBound("gated");
  });

  test("of another scheduler is ignored", async () => {
    await cluster.client.create("nodes", makeNode("a"));
    startScheduler();
    await createPod("theirs", { schedulerName: "other" });
    await createPod("ours");
    await untilBound("ours");
    expect(await nodeOf("theirs")).toBeUndefined();
    startScheduler({ schedulerName: "other" });
    await untilBound("theirs");
  });

  test("that is deleted while it waits is removed from the queue", async () => {
    startScheduler();
    await createPod("web");
    await untilRefused("web", "no nodes available to schedule pods");
    await cluster.client.delete("pods", { namespace, name: "web" });
    await createPod("web");
    await cluster.client.create("nodes", makeNode("a"));
    await untilBound("web");
  });
});

test("a node is never overcommitted when many pods are created at once", async () => {
  for (const name of ["a", "b", "c"]) await cluster.client.create("nodes", makeNode(name));
  startScheduler();
  await Promise.all(Array.from({ length: 40 }, (_, i) => createPod(`p${i}`, { cpu: "250m" })));
  await expect.poll(async () => (await boundPods()).length).toBe(24);
  await delay(300);
  const perNode = new Map<string, number>();
  for (const { spec } of await boundPods()) {
    perNode.set(spec?.nodeName ?? "", (perNode.get(spec?.nodeName ?? "") ?? 0) + 1);
  }
  expect([...perNode.values()]).toEqual([8, 8, 8]);
});
