import { beforeAll, describe, expect, test } from "vitest";
import { useKubectlCluster } from "../support/cluster/kubectl-cluster.ts";
import { makeDeployment } from "../support/manifests/workload.ts";
import { describeWithTool } from "../support/programs/tools.ts";
import { createFastClock } from "../support/time/fast-clock.ts";

describeWithTool("kubectl", "the life of nodes", () => {
  // A minute of the controllers is three seconds here. Nodes give signs of life often enough for that.
  const clock = createFastClock(20);
  const cluster = useKubectlCluster({
    nodes: ["node-1", "node-2"],
    kubelet: { config: { nodeLeaseDurationSeconds: 1 } },
    controllers: { clock },
  });

  /** The clock stands still while other processes have the machine, so that a minute of it can take long. */
  const eventually = <T>(get: () => Promise<T>) => expect.poll(get, { interval: 20, timeout: 200_000 });

  const namespace = "default";
  const getNode = (name: string) => cluster.client.get("nodes", { name });
  const readyOf = async (name: string) =>
    (await getNode(name)).status?.conditions?.find(({ type }) => type === "Ready");
  const taintsOf = async (name: string) =>
    ((await getNode(name)).spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
  const kubeletOf = (name: string) => {
    const found = cluster.nodes.find(({ kubelet }) => kubelet.name === name);
    if (!found) throw new Error(`no node ${name}`);
    return found.kubelet;
  };
  const isReady = (pod: Awaited<ReturnType<typeof cluster.pods>>[number]) =>
    pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;

  const unreachable = "node.kubernetes.io/unreachable";
  const tolerations = ["not-ready", "unreachable"].map((what) => ({
    key: `node.kubernetes.io/${what}`,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds: 60,
  }));

  describe("a node that stops reporting", () => {
    beforeAll(async () => {
      await cluster.apply(makeDeployment("app", { replicas: 4, pod: { tolerations } }));
      await cluster.kubectl.ok("rollout status deployment/app --timeout=60s");
      const pods = await cluster.pods("app");
      expect(new Set(pods.map(({ spec }) => spec?.nodeName))).toEqual(new Set(["node-1", "node-2"]));
      await kubeletOf("node-1").stop();
    });

    test("has Ready Unknown and taints, and its pods are not ready", async () => {
      await eventually(() => readyOf("node-1")).toMatchObject({
        status: "Unknown",
        reason: "NodeStatusUnknown",
        message: "Kubelet stopped posting node status.",
      });
      await eventually(() => taintsOf("node-1")).toEqual([
        `${unreachable}:NoSchedule`,
        `${unreachable}:NoExecute`,
      ]);
      await eventually(async () => {
        const pods = await cluster.pods("app");
        return pods.filter((pod) => pod.spec?.nodeName === "node-1" && isReady(pod)).length;
      }).toBe(0);
      await eventually(() => cluster.messages("Node", "node-1")).toContain(
        "NodeNotReady: Node node-1 status is now: NodeNotReady",
      );
      expect(await readyOf("node-2")).toMatchObject({ status: "True" });
    });

    test("loses its pods when they have tolerated it for long enough", async () => {
      await eventually(async () => {
        const pods = await cluster.pods("app");
        return pods.filter(({ spec }) => spec?.nodeName === "node-2").filter(isReady).length;
      }).toBe(4);
      const left = (await cluster.pods("app")).filter(({ spec }) => spec?.nodeName === "node-1");
      expect(left.length).toBeGreaterThan(0);
      for (const { metadata, status } of left) {
        expect(metadata.deletionTimestamp).toBeDefined();
        expect(status?.conditions).toContainEqual(
          expect.objectContaining({ type: "DisruptionTarget", reason: "DeletionByTaintManager" }),
        );
      }
    });

    test("loses its taints when it reports again", async () => {
      await kubeletOf("node-1").start();
      await eventually(() => readyOf("node-1")).toMatchObject({ status: "True" });
      await eventually(() => taintsOf("node-1")).toEqual([]);
      await eventually(async () => (await cluster.pods("app")).length).toBe(4);
      await cluster.kubectl.ok("delete deployment app");
    });
  });

  /** When the pod that tolerates the taint would have to leave, were it still there. */
  let wouldLeaveAt = 0;

  test("a pod that tolerates a taint stays while the taint exists, and its eviction is cancelled when it may stay", async () => {
    const { client, kubectl } = cluster;
    // 15 s: the taint is removed before that, even on a busy machine.
    const stay = { key: "maintenance", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 };
    const setTaints = (taints: object[]) =>
      client.patch("nodes", { name: "node-2" }, { patch: { kind: "merge", body: { spec: { taints } } } });
    await kubeletOf("node-2").run("stays", {
      containers: [{ name: "c", image: "web:1" }],
      tolerations: [stay],
    });
    await kubeletOf("node-2").run("leaves", { containers: [{ name: "c", image: "web:1" }] });
    await kubectl.ok("wait --for=condition=Ready pod/stays pod/leaves --timeout=60s");
    await setTaints([{ key: "maintenance", value: "now", effect: "NoExecute" }]);
    wouldLeaveAt = clock.now() + 320_000;
    await kubeletOf("node-2").untilGone("leaves");
    await setTaints([]);
    await eventually(() => cluster.messages("Pod", "stays")).toContain(
      "TaintManagerEviction: Cancelling deletion of Pod default/stays",
    );
  });

  test("pods are not evicted when all nodes are unreachable", async () => {
    await Promise.all(cluster.nodes.map(({ kubelet }) => kubelet.stop()));
    await eventually(async () => (await readyOf("node-1"))?.status).toBe("Unknown");
    await eventually(async () => (await readyOf("node-2"))?.status).toBe("Unknown");
    await eventually(() => taintsOf("node-1")).toEqual([`${unreachable}:NoSchedule`]);
    await eventually(() => taintsOf("node-2")).toEqual([`${unreachable}:NoSchedule`]);
    await Promise.all(cluster.nodes.map(({ kubelet }) => kubelet.start()));
    await eventually(() => taintsOf("node-1")).toEqual([]);
    await eventually(() => taintsOf("node-2")).toEqual([]);
  });

  test("the pods of a node that is deleted are deleted", async () => {
    const { client, kubectl } = cluster;
    await kubeletOf("node-1").run("orphan", { containers: [{ name: "c", image: "web:1" }] });
    await kubectl.ok("wait --for=condition=Ready pod/orphan --timeout=60s");
    await kubeletOf("node-1").stop();
    await client.delete("nodes", { name: "node-1" });
    await kubectl.ok("wait --for=delete pod/orphan --timeout=60s");
    await kubeletOf("node-1").start();
  });

  test("a pod that tolerated a removed taint is not evicted later", async () => {
    await clock.sleep(wouldLeaveAt - clock.now());
    const { metadata } = await cluster.client.get("pods", { namespace, name: "stays" });
    expect(metadata.deletionTimestamp).toBeUndefined();
  });
});
