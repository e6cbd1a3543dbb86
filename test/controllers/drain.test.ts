import { expect, test } from "vitest";
import { useKubectlCluster } from "../support/cluster/kubectl-cluster.ts";
import { makeDeployment } from "../support/manifests/workload.ts";
import { describeWithTool } from "../support/programs/tools.ts";
import { eventually } from "../support/time/eventually.ts";

describeWithTool("kubectl", "disruption budgets", () => {
  const cluster = useKubectlCluster({ nodes: ["node-1", "node-2"] });

  const namespace = "default";
  const budgetOf = (name: string, spec: object) => ({
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name, namespace },
    spec: { selector: { matchLabels: { app: name } }, ...spec },
  });
  const statusOf = async (name: string) =>
    (await cluster.client.get("poddisruptionbudgets", { namespace, name })).status;
  const allowedOf = async (name: string) =>
    (await statusOf(name))?.conditions?.find(({ type }) => type === "DisruptionAllowed");
  const liveOn = async (app: string, node: string) =>
    (await cluster.pods(app)).filter(
      ({ metadata, spec }) => spec?.nodeName === node && !metadata.deletionTimestamp,
    ).length;
  const drain = "drain node-1 --ignore-daemonsets --delete-emptydir-data --force";

  test("a budget counts healthy pods and allowed disruptions", async () => {
    const { kubectl } = cluster;
    await cluster.apply(budgetOf("counted", { minAvailable: 2 }));
    await eventually(() => allowedOf("counted")).toMatchObject({
      status: "False",
      reason: "InsufficientPods",
    });
    await eventually(() => cluster.messages("PodDisruptionBudget", "counted")).toContain(
      "NoPods: No matching pods found",
    );
    await cluster.apply(makeDeployment("counted"));
    await kubectl.ok("rollout status deployment/counted --timeout=60s");
    await eventually(() => statusOf("counted")).toMatchObject({
      expectedPods: 3,
      currentHealthy: 3,
      desiredHealthy: 2,
      disruptionsAllowed: 1,
      observedGeneration: 1,
    });
    expect(await allowedOf("counted")).toMatchObject({ status: "True", reason: "SufficientPods" });
    await kubectl.ok("scale deployment/counted --replicas=2");
    await eventually(() => statusOf("counted")).toMatchObject({ currentHealthy: 2, disruptionsAllowed: 0 });
    await kubectl.ok("delete deployment/counted pdb/counted");
  });

  test.each([
    { name: "percent", spec: { maxUnavailable: "50%" }, desiredHealthy: 2 },
    { name: "number", spec: { maxUnavailable: 1 }, desiredHealthy: 3 },
    { name: "least", spec: { minAvailable: "30%" }, desiredHealthy: 2 },
  ])("a share is one of what the Deployment asks for: $spec", async ({ name, spec, desiredHealthy }) => {
    const { kubectl } = cluster;
    await cluster.apply(budgetOf(name, spec));
    await cluster.apply(makeDeployment(name, { replicas: 4 }));
    await kubectl.ok(`rollout status deployment/${name} --timeout=60s`);
    await eventually(() => statusOf(name)).toMatchObject({
      expectedPods: 4,
      currentHealthy: 4,
      desiredHealthy,
    });
    await kubectl.ok(`delete deployment/${name} pdb/${name}`);
  });

  test("a drain moves pods without taking more than the budget allows", async () => {
    const { client, kubectl } = cluster;
    await cluster.apply(budgetOf("moved", { minAvailable: 3 }));
    await cluster.apply(makeDeployment("moved", { replicas: 4 }));
    await kubectl.ok("rollout status deployment/moved --timeout=60s");
    await eventually(() => statusOf("moved")).toMatchObject({ disruptionsAllowed: 1 });
    const healthy: number[] = [];
    const selection = { fieldSelector: "metadata.name=moved" };
    const following = await cluster.follow("poddisruptionbudgets", selection, ({ object }) => {
      healthy.push(object.status?.currentHealthy ?? 0);
    });
    await kubectl.ok(`${drain} --timeout=60s`);
    await following.stop();
    expect(Math.min(...healthy)).toBeGreaterThanOrEqual(3);
    expect(await liveOn("moved", "node-1")).toBe(0);
    await kubectl.ok("rollout status deployment/moved --timeout=60s");
    await eventually(() => liveOn("moved", "node-2")).toBe(4);
    const taints = async () => (await client.get("nodes", { name: "node-1" })).spec?.taints ?? [];
    await eventually(taints).toMatchObject([
      { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" },
    ]);
    await kubectl.ok("uncordon node-1");
    await eventually(taints).toEqual([]);
  });

  test("a drain that exceeds the budget waits and prints the reason", async () => {
    const { kubectl } = cluster;
    await cluster.apply(makeDeployment("held", { replicas: 1, pod: { nodeName: "node-1" } }));
    await kubectl.ok("rollout status deployment/held --timeout=60s");
    await cluster.apply(budgetOf("held", { maxUnavailable: 0 }));
    await eventually(() => statusOf("held")).toMatchObject({ expectedPods: 1, disruptionsAllowed: 0 });
    const draining = kubectl.follow(`${drain} --pod-selector=app=held`);
    await draining.until(/Cannot evict pod as it would violate the pod's disruption budget\./, "stderr");
    await draining.stop();
    await kubectl.fails(`${drain} --pod-selector=app=held --timeout=1s`);
    expect(await liveOn("held", "node-1")).toBe(1);
    await kubectl.ok("uncordon node-1");
  });
});
