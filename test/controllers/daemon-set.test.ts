import { afterEach, expect, test } from "vitest";
import { isReady } from "../../src/api/meta/object-facts.ts";
import type { DaemonSet } from "../../src/api/meta/objects.ts";
import { useKubectlCluster } from "../support/cluster/kubectl-cluster.ts";
import { makePodSpec } from "../support/manifests/pod.ts";
import { describeWithTool } from "../support/programs/tools.ts";
import { eventually } from "../support/time/eventually.ts";

type Spec = NonNullable<DaemonSet["spec"]>;

function makeDaemonSet(name: string, image: string, spec: Partial<Spec> = {}): DaemonSet {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name, namespace: "default" },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: makePodSpec({ container: { image } }) },
      ...spec,
    },
  };
}

describeWithTool("kubectl", "a DaemonSet", () => {
  const cluster = useKubectlCluster({ nodes: ["node-1", "node-2", "node-3"] });
  const namespace = "default";
  const statusOf = async (name: string) =>
    (await cluster.client.get("daemonsets", { namespace, name })).status;
  const nodesOf = async (name: string) =>
    (await cluster.pods(name)).map(({ spec }) => spec?.nodeName ?? "").sort();
  const imagesOf = async (name: string) =>
    (await cluster.pods(name)).map(({ spec }) => spec?.containers[0]?.image ?? "");
  const rolledOut = (name: string) => cluster.kubectl.ok(`rollout status daemonset/${name} --timeout=60s`);

  afterEach(async () => {
    await cluster.client.deleteCollection("daemonsets", { namespace });
    // The garbage collector deletes pods and revisions of a deleted set.
    await eventually(async () => (await cluster.client.list("pods", { namespace })).items).toEqual([]);
    await eventually(
      async () => (await cluster.client.list("controllerrevisions", { namespace })).items,
    ).toEqual([]);
  });

  test("runs a pod on each node, also on one that is cordoned or joins its selector later", async () => {
    const { kubectl } = cluster;
    await kubectl.ok("cordon node-3");
    await cluster.apply(makeDaemonSet("each", "agent:1"));
    await rolledOut("each");
    expect(await nodesOf("each")).toEqual(["node-1", "node-2", "node-3"]);
    await eventually(() => statusOf("each")).toMatchObject({
      desiredNumberScheduled: 3,
      currentNumberScheduled: 3,
      updatedNumberScheduled: 3,
      numberReady: 3,
      numberAvailable: 3,
      numberMisscheduled: 0,
      observedGeneration: 1,
    });
    expect(await kubectl.ok("get ds each")).toMatch(/^each +3 +3 +3 +3 +3 +<none> /m);
    expect(await kubectl.ok("describe ds each")).toMatch(/Pods Status: +3 Running \/ 0 Waiting/);
    await eventually(() => cluster.messages("DaemonSet", "each")).toContainEqual(
      expect.stringMatching(/^SuccessfulCreate: Created pod: each-\w{5}$/),
    );
    const drained = await kubectl.ok("drain node-3 --ignore-daemonsets --timeout=60s");
    expect(drained).toContain("node/node-3 drained");
    expect(await nodesOf("each")).toContain("node-3");
    await kubectl.ok("uncordon node-3");

    const body = { spec: { template: { spec: { nodeSelector: { disk: "ssd" } } } } };
    await cluster.client.patch("daemonsets", { namespace, name: "each" }, { patch: { kind: "merge", body } });
    await eventually(() => nodesOf("each")).toEqual([]);
    await kubectl.ok("label node node-2 disk=ssd");
    await eventually(() => nodesOf("each")).toEqual(["node-2"]);
    await kubectl.ok("taint node node-2 dedicated=gpu:NoSchedule");
    await eventually(() => statusOf("each")).toMatchObject({
      desiredNumberScheduled: 0,
      numberMisscheduled: 1,
    });
    await kubectl.ok("taint node node-2 dedicated=gpu:NoExecute dedicated:NoSchedule-");
    await eventually(() => nodesOf("each")).toEqual([]);
    await kubectl.ok("taint node node-2 dedicated-");
    await eventually(() => nodesOf("each")).toEqual(["node-2"]);
    await kubectl.ok("label node node-2 disk-");
  });

  test("rolls out, undoes and restarts, with revisions", async () => {
    const { kubectl } = cluster;
    await cluster.apply(makeDaemonSet("rolled", "agent:1"));
    await rolledOut("rolled");
    await cluster.apply(makeDaemonSet("rolled", "agent:2"));
    await rolledOut("rolled");
    await eventually(() => imagesOf("rolled")).toEqual(["agent:2", "agent:2", "agent:2"]);
    expect(await kubectl.ok("rollout history daemonset/rolled")).toMatch(/^1 .*\n2 /m);
    await kubectl.ok("rollout undo daemonset/rolled");
    await rolledOut("rolled");
    await eventually(() => imagesOf("rolled")).toEqual(["agent:1", "agent:1", "agent:1"]);
    expect(await kubectl.ok("rollout history daemonset/rolled")).toMatch(/^2 .*\n3 /m);
    const before = (await cluster.pods("rolled")).map(({ metadata }) => metadata.uid);
    await kubectl.ok("rollout restart daemonset/rolled");
    await rolledOut("rolled");
    await eventually(async () =>
      (await cluster.pods("rolled")).filter(({ metadata }) => before.includes(metadata.uid)),
    ).toEqual([]);
    const { items } = await cluster.client.list("controllerrevisions", { namespace });
    expect(items.map(({ revision }) => revision).sort()).toEqual([2, 3, 4]);
  });

  test("replaces pods on OnDelete only when they are deleted", async () => {
    const updateStrategy = { type: "OnDelete" };
    await cluster.apply(makeDaemonSet("manual", "agent:1", { updateStrategy }));
    await eventually(() => statusOf("manual")).toMatchObject({ numberAvailable: 3 });
    await cluster.apply(makeDaemonSet("manual", "agent:2", { updateStrategy }));
    await eventually(() => statusOf("manual")).toMatchObject({
      observedGeneration: 2,
      currentNumberScheduled: 3,
    });
    expect(await imagesOf("manual")).toEqual(["agent:1", "agent:1", "agent:1"]);
    const [pod] = await cluster.pods("manual");
    await cluster.client.delete("pods", { namespace, name: pod?.metadata.name ?? "" });
    await eventually(() => statusOf("manual")).toMatchObject({
      updatedNumberScheduled: 1,
      numberAvailable: 3,
    });
    await eventually(async () => (await imagesOf("manual")).sort()).toEqual([
      "agent:1",
      "agent:1",
      "agent:2",
    ]);
  });

  test("keeps an available pod on every node while it surges", async () => {
    const updateStrategy = { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
    await cluster.apply(makeDaemonSet("surging", "agent:1", { updateStrategy }));
    await rolledOut("surging");
    await eventually(() => statusOf("surging")).toMatchObject({ numberAvailable: 3 });
    const ready = new Map((await cluster.pods("surging")).map((pod) => [pod.metadata.name, pod]));
    const availableNodes: number[] = [];
    const following = await cluster.follow("pods", { labelSelector: "app=surging" }, ({ type, object }) => {
      if (type === "DELETED" || !isReady(object)) ready.delete(object.metadata.name);
      else ready.set(object.metadata.name, object);
      availableNodes.push(new Set(Array.from(ready.values(), ({ spec }) => spec?.nodeName)).size);
    });
    await cluster.apply(makeDaemonSet("surging", "agent:2", { updateStrategy }));
    await rolledOut("surging");
    await eventually(() => imagesOf("surging")).toEqual(["agent:2", "agent:2", "agent:2"]);
    await following.stop();
    expect(Math.min(...availableNodes)).toBe(3);
  });
});
