import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { conditionOf } from "../../src/api/meta/object-facts.ts";
import type { ReplicaSet } from "../../src/api/meta/objects.ts";
import { useKubectlCluster } from "../support/cluster/kubectl-cluster.ts";
import { makeDeployment } from "../support/manifests/workload.ts";
import { describeWithTool } from "../support/programs/tools.ts";
import { eventually } from "../support/time/eventually.ts";

describeWithTool("kubectl", "a Deployment", () => {
  const cluster = useKubectlCluster();
  const getDeployment = (name: string) => cluster.client.get("deployments", { namespace: "default", name });
  /** Lists ReplicaSets, the newest revision first. */
  async function replicaSets(app: string): Promise<ReplicaSet[]> {
    const selection = { namespace: "default", labelSelector: `app=${app}` };
    const revision = ({ metadata }: ReplicaSet) =>
      Number(metadata.annotations?.["deployment.kubernetes.io/revision"]);
    const { items } = await cluster.client.list("replicasets", selection);
    return [...items].sort((a, b) => revision(b) - revision(a));
  }

  const progressing = async (name: string) => conditionOf(await getDeployment(name), "Progressing");
  const imagesOf = async (app: string) =>
    (await cluster.pods(app))
      .filter(({ metadata }) => !metadata.deletionTimestamp)
      .map(({ spec }) => spec?.containers[0]?.image);
  const rolledOut = (name: string) => cluster.kubectl.ok(`rollout status deployment/${name} --timeout=60s`);

  test("is rolled out and reports progress in conditions and events", async () => {
    await cluster.apply(makeDeployment("first"));
    expect(await rolledOut("first")).toContain('deployment "first" successfully rolled out');
    const [set] = await replicaSets("first");
    const hash = set?.metadata.labels?.["pod-template-hash"];
    expect(set?.metadata.name).toBe(`first-${hash}`);
    expect(set?.spec?.selector.matchLabels).toEqual({ app: "first", "pod-template-hash": hash });
    expect(set?.metadata.annotations).toMatchObject({
      "deployment.kubernetes.io/revision": "1",
      "deployment.kubernetes.io/desired-replicas": "3",
      "deployment.kubernetes.io/max-replicas": "4",
    });
    const deployment = await getDeployment("first");
    expect(deployment.metadata.annotations?.["deployment.kubernetes.io/revision"]).toBe("1");
    await eventually(async () => (await getDeployment("first")).status).toMatchObject({
      observedGeneration: deployment.metadata.generation,
      replicas: 3,
      updatedReplicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
    });
    expect(conditionOf(deployment, "Available")).toMatchObject({
      status: "True",
      reason: "MinimumReplicasAvailable",
    });
    await eventually(() => progressing("first")).toMatchObject({
      status: "True",
      reason: "NewReplicaSetAvailable",
      message: `ReplicaSet "first-${hash}" has successfully progressed.`,
    });
    await eventually(() => cluster.messages("Deployment", "first")).toContain(
      `ScalingReplicaSet: Scaled up replica set first-${hash} from 0 to 3`,
    );
    const pods = await cluster.pods("first");
    await eventually(() => cluster.messages("ReplicaSet", `first-${hash}`)).toContain(
      `SuccessfulCreate: Created pod: ${pods[0]?.metadata.name}`,
    );
  });

  test("a new template is rolled out, recorded in the history and can be undone", async () => {
    const { kubectl } = cluster;
    const cause = (text: string) => ({ annotations: { "kubernetes.io/change-cause": text } });
    await cluster.apply(makeDeployment("rolls", cause("one")));
    await rolledOut("rolls");
    await cluster.apply(makeDeployment("rolls", { image: "web:2", ...cause("two") }));
    await rolledOut("rolls");
    await eventually(() => imagesOf("rolls")).toEqual(["web:2", "web:2", "web:2"]);
    expect(await kubectl.ok("rollout history deployment/rolls")).toMatch(/1\s+one\n2\s+two/);
    expect((await replicaSets("rolls")).map(({ spec }) => spec?.replicas)).toEqual([3, 0]);

    await kubectl.ok("rollout undo deployment/rolls");
    await rolledOut("rolls");
    await eventually(() => imagesOf("rolls")).toEqual(["web:1", "web:1", "web:1"]);
    expect(await kubectl.ok("rollout history deployment/rolls")).toMatch(/2\s+two\n3\s+one/);
    const [set] = await replicaSets("rolls");
    expect(set?.metadata.annotations?.["deployment.kubernetes.io/revision-history"]).toBe("1");

    await kubectl.ok("rollout undo deployment/rolls --to-revision=2");
    await rolledOut("rolls");
    await eventually(() => imagesOf("rolls")).toEqual(["web:2", "web:2", "web:2"]);
    await kubectl.ok("rollout restart deployment/rolls");
    await rolledOut("rolls");
    expect(await replicaSets("rolls")).toHaveLength(3);
  });

  test("never has more or fewer pods than its strategy allows", async () => {
    const strategy = { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
    await cluster.apply(makeDeployment("bounded", { replicas: 4, spec: { strategy } }));
    await rolledOut("bounded");
    const seen: { total: number; available: number }[] = [];
    const selection = { fieldSelector: "metadata.name=bounded" };
    const following = await cluster.follow("deployments", selection, ({ object: { status } }) => {
      seen.push({ total: status?.replicas ?? 0, available: status?.availableReplicas ?? 0 });
    });
    await cluster.apply(makeDeployment("bounded", { replicas: 4, spec: { strategy }, image: "web:2" }));
    await rolledOut("bounded");
    await following.stop();
    expect(seen.length).toBeGreaterThan(4);
    for (const { total, available } of seen) {
      expect(total).toBeLessThanOrEqual(5);
      expect(available).toBeGreaterThanOrEqual(4);
    }
  });

  test("Recreate stops all old pods before it starts new ones", async () => {
    const strategy = { type: "Recreate" };
    await cluster.apply(makeDeployment("again", { spec: { strategy } }));
    await rolledOut("again");
    const running = new Set((await cluster.pods("again")).map(({ metadata }) => metadata.name));
    const runningAtStart: number[] = [];
    const following = await cluster.follow("pods", { labelSelector: "app=again" }, ({ type, object }) => {
      const { metadata, status } = object;
      if (type === "ADDED") runningAtStart.push(running.size);
      const ended = status?.phase === "Succeeded" || status?.phase === "Failed";
      if (type === "DELETED" || ended) running.delete(metadata.name);
    });
    await cluster.apply(makeDeployment("again", { spec: { strategy }, image: "web:2" }));
    await rolledOut("again");
    await following.stop();
    expect(runningAtStart).toEqual([0, 0, 0]);
  });

  test("a rollout that exceeds progressDeadlineSeconds reports it, and recovers", async () => {
    const { kubectl } = cluster;
    await cluster.apply(makeDeployment("stuck"));
    await rolledOut("stuck");
    // Only what is to miss its deadline has a short one: on a busy machine others would miss it too.
    await cluster.apply(makeDeployment("stuck", { spec: { progressDeadlineSeconds: 2 }, image: "Broken:1" }));
    const complaint = await kubectl.fails("rollout status deployment/stuck --timeout=60s");
    expect(complaint).toContain('deployment "stuck" exceeded its progress deadline');
    const [set] = await replicaSets("stuck");
    expect(await progressing("stuck")).toMatchObject({
      status: "False",
      reason: "ProgressDeadlineExceeded",
      message: `ReplicaSet "${set?.metadata.name}" has timed out progressing.`,
    });
    expect(conditionOf(await getDeployment("stuck"), "Available")).toMatchObject({ status: "True" });
    await kubectl.ok(["patch", "deployment", "stuck", "-p", '{"spec":{"progressDeadlineSeconds":600}}']);
    await kubectl.ok("rollout undo deployment/stuck");
    await rolledOut("stuck");
    await eventually(() => progressing("stuck")).toMatchObject({
      status: "True",
      reason: "NewReplicaSetAvailable",
    });
  });

  test("a paused Deployment scales without a rollout; a resumed one continues it", async () => {
    const { kubectl } = cluster;
    await cluster.apply(makeDeployment("paused"));
    await rolledOut("paused");
    await kubectl.ok("rollout pause deployment/paused");
    await kubectl.ok("set image deployment/paused c=web:2");
    await kubectl.ok("scale deployment/paused --replicas=5");
    await eventually(() => imagesOf("paused")).toEqual(Array.from({ length: 5 }, () => "web:1"));
    expect(await progressing("paused")).toMatchObject({ status: "Unknown", reason: "DeploymentPaused" });
    await kubectl.ok("rollout resume deployment/paused");
    await rolledOut("paused");
    await eventually(() => imagesOf("paused")).toEqual(Array.from({ length: 5 }, () => "web:2"));
  });

  test("scaling during a rollout is proportional", async () => {
    const { kubectl } = cluster;
    const strategy = { rollingUpdate: { maxSurge: 2, maxUnavailable: 2 } };
    await cluster.apply(makeDeployment("shares", { replicas: 6, spec: { strategy } }));
    await rolledOut("shares");
    await cluster.apply(makeDeployment("shares", { replicas: 6, spec: { strategy }, image: "Broken:1" }));
    const sizes = async () => (await replicaSets("shares")).map(({ spec }) => spec?.replicas);
    await eventually(sizes).toEqual([4, 4]);
    await kubectl.ok("scale deployment/shares --replicas=12");
    await eventually(sizes).toEqual([7, 7]);
    // No fewer: then more old pods than must be available would be left, and would go at once.
    await kubectl.ok("scale deployment/shares --replicas=6");
    await eventually(sizes).toEqual([4, 4]);
    await kubectl.ok("delete deployment/shares");
  });

  test("minReadySeconds delays a rollout", async () => {
    const strategy = { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
    await cluster.apply(makeDeployment("slow", { replicas: 1, spec: { strategy, minReadySeconds: 2 } }));
    await rolledOut("slow");
    const before = Date.now();
    await cluster.apply(
      makeDeployment("slow", { replicas: 1, spec: { strategy, minReadySeconds: 2 }, image: "web:2" }),
    );
    await rolledOut("slow");
    expect(Date.now() - before).toBeGreaterThan(1_000);
  });

  test("keeps revisionHistoryLimit old ReplicaSets", async () => {
    const { kubectl } = cluster;
    await cluster.apply(makeDeployment("history", { replicas: 1, spec: { revisionHistoryLimit: 1 } }));
    await rolledOut("history");
    for (const image of ["web:2", "web:3", "web:4"]) {
      await kubectl.ok(`set image deployment/history c=${image}`);
      await rolledOut("history");
    }
    const images = async () =>
      (await replicaSets("history")).map(({ spec }) => spec?.template?.spec?.containers[0]?.image);
    await eventually(images).toEqual(["web:4", "web:3"]);
  });

  test("a ReplicaSet adopts matching orphans and releases pods that no longer match", async () => {
    const { client, kubectl } = cluster;
    await cluster.apply(makeDeployment("hands", { replicas: 2 }));
    await rolledOut("hands");
    const [pod] = await cluster.pods("hands");
    await kubectl.ok(`label pod ${pod?.metadata.name} app=free --overwrite`);
    await eventually(async () => (await imagesOf("hands")).length).toBe(2);
    const key = { namespace: "default", name: pod?.metadata.name ?? "" };
    await eventually(async () => (await client.get("pods", key)).metadata.ownerReferences ?? []).toEqual([]);
    await kubectl.ok(`label pod ${pod?.metadata.name} app=hands --overwrite`);
    // Three are one too many.
    await eventually(async () => (await imagesOf("hands")).length).toBe(2);
  });

  test("a controller that is stopped at a random time continues the rollout after its restart", async () => {
    const { kubectl } = cluster;
    await cluster.apply(makeDeployment("crash", { replicas: 4 }));
    for (const image of ["web:2", "web:3"]) {
      await kubectl.ok(`set image deployment/crash c=${image}`);
      for (let crashes = 0; crashes < 5; crashes++) {
        await delay(30 + 40 * crashes);
        await cluster.stopControllers();
        await cluster.startControllers();
      }
    }
    await rolledOut("crash");
    await eventually(() => imagesOf("crash")).toEqual(Array.from({ length: 4 }, () => "web:3"));
    expect((await replicaSets("crash")).filter(({ spec }) => spec?.replicas !== 0)).toHaveLength(1);
  });

  test("an idle controller sends no requests", async () => {
    const { kubectl } = cluster;
    await cluster.apply(makeDeployment("quiet"));
    await rolledOut("quiet");
    await eventually(() => progressing("quiet")).toMatchObject({ reason: "NewReplicaSetAvailable" });
    let looks = 0;
    // A new label changes only the resource version of a Deployment, so no write follows. The tests before may
    // still cause one more write.
    await eventually(async () => {
      const label = `seen=${looks++} --overwrite`;
      const before = cluster.calls();
      await kubectl.ok(`label pods -l app=quiet ${label}`);
      await kubectl.ok(`label deployment quiet ${label}`);
      await delay(1_000);
      return cluster.calls() - before;
    }).toBe(0);
  });
});
