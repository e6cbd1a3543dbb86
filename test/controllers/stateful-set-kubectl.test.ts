import { beforeAll, expect, test } from "vitest";
import { brokenImage, useStatefulSetCluster } from "../support/cluster/stateful-set-cluster.ts";
import { createKubectl, type Kubectl } from "../support/kubectl/kubectl.ts";
import { describeWithTool } from "../support/programs/tools.ts";

describeWithTool("kubectl", "kubectl on StatefulSets", () => {
  const cluster = useStatefulSetCluster();
  let kubectl: Kubectl;
  beforeAll(() => {
    kubectl = createKubectl(cluster.server.kubeconfig);
  });

  const complete =
    /partitioned roll out complete: 3 new pods|rolling update complete 3 pods at revision web-/;
  const all = (name: string, count: number, image: string) =>
    Array.from({ length: count }, (_, ordinal) => `${name}-${ordinal}=${image} ready`);

  test("rollout status waits for the rollout, and undo restores the previous revision", async () => {
    await cluster.create("web", {});
    expect(await kubectl.ok("rollout status statefulset/web --timeout=60s")).toMatch(complete);
    await kubectl.ok("set image statefulset/web c=web:2");
    expect(await kubectl.ok("rollout status statefulset/web --timeout=60s")).toMatch(complete);
    expect(await cluster.picture("web")).toEqual(all("web", 3, "web:2"));
    expect(await kubectl.ok("rollout history statefulset/web")).toMatch(/REVISION.*\n1 .*\n2 /);

    await kubectl.ok("rollout undo statefulset/web");
    expect(await kubectl.ok("rollout status statefulset/web --timeout=60s")).toMatch(complete);
    await cluster.untilPicture("web", all("web", 3, "web:1"));
    expect(await kubectl.ok("rollout history statefulset/web")).toMatch(/REVISION.*\n2 .*\n3 /);
  });

  test("scale adds and removes pods at the largest ordinal", async () => {
    await cluster.create("size", { replicas: 1 });
    await cluster.untilPicture("size", all("size", 1, "web:1"));
    await kubectl.ok("scale statefulset/size --replicas=3");
    await cluster.untilPicture("size", all("size", 3, "web:1"));
    await kubectl.ok("scale statefulset/size --replicas=1");
    await cluster.untilPicture("size", all("size", 1, "web:1"));
  });

  test("wait reports at once that a rollout is blocked, and describe shows why", async () => {
    await cluster.create("bad", { image: brokenImage });
    await kubectl.ok("wait statefulset/bad --for=condition=Progressing=false --timeout=60s");
    const jsonpath = '{.status.conditions[?(@.type=="Progressing")].message}';
    const message = await kubectl.ok(["get", "statefulset", "bad", "-o", `jsonpath=${jsonpath}`]);
    expect(message).toMatch(/^pod bad-0 blocks the rollout: .*couldn't parse image/i);
    await expect
      .poll(() => kubectl.ok("describe statefulset bad"))
      .toContain("Create Pod bad-0 in StatefulSet bad successful");
  });

  test("3541-3 undo of a broken update recovers under EnforcedRollingUpdate", async () => {
    await cluster.create("back", { spec: { updateStrategy: { type: "EnforcedRollingUpdate" } } });
    await cluster.untilPicture("back", all("back", 3, "web:1"));
    await kubectl.ok(`set image statefulset/back c=${brokenImage}`);
    await kubectl.ok("wait statefulset/back --for=condition=Progressing=false --timeout=60s");
    await kubectl.ok("rollout undo statefulset/back");
    // kubectl's own `rollout status` knows only RollingUpdate.
    const reason = 'jsonpath={.status.conditions[?(@.type=="Progressing")].reason}=RolloutComplete';
    await kubectl.ok(["wait", "statefulset/back", `--for=${reason}`, "--timeout=60s"]);
    await cluster.untilPicture("back", all("back", 3, "web:1"));
  });

  test("3541-12 kubectl wait waits for condition RolloutComplete with a strategy that kubectl rollout status refuses", async () => {
    const spec = { updateStrategy: { type: "EnforcedRollingUpdate" } };
    await cluster.create("ci", { spec });
    const wait = "wait statefulset/ci --for=condition=RolloutComplete --timeout=60s";
    await kubectl.ok(wait);
    expect(await cluster.picture("ci")).toEqual(all("ci", 3, "web:1"));
    // Directly after the change the condition is still that of the rollout before.
    await kubectl.ok("set image statefulset/ci c=web:2");
    await kubectl.ok(wait);
    expect(await cluster.picture("ci")).toEqual(all("ci", 3, "web:2"));
    await kubectl.ok("scale statefulset/ci --replicas=1");
    await kubectl.ok(wait);
    expect(await cluster.picture("ci")).toEqual(all("ci", 1, "web:2"));
    expect((await cluster.get("ci")).metadata.annotations?.["kindling.dev/rollout-progress"]).toBeUndefined();
    const refused = await kubectl.run("rollout status statefulset/ci");
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain("rollout status is only available for RollingUpdate strategy type");
  });

  test("3541-12 Progressing turns False with ProgressDeadlineExceeded for a pod that never passes its readiness probe", async () => {
    const annotations = { "kindling.dev/progress-deadline-seconds": "3" };
    await cluster.create("slow", { annotations, replicas: 2 });
    await kubectl.ok("wait statefulset/slow --for=condition=RolloutComplete --timeout=60s");
    const readinessProbe = { exec: { command: ["false"] }, periodSeconds: 1 };
    cluster.simulated.rules.add({ match: { pod: "slow-*" }, container: { exec: [{ exitCode: 1 }] } });
    await cluster.patch("slow", {
      spec: { template: { spec: { containers: [{ name: "c", image: "web:2", readinessProbe }] } } },
    });
    const begun = Date.now();
    await kubectl.ok("wait statefulset/slow --for=condition=Progressing=False --timeout=60s");
    expect(Date.now() - begun).toBeGreaterThan(2_000);
    const { status } = await cluster.get("slow");
    const reason = "ProgressDeadlineExceeded";
    const message = expect.stringMatching(
      /^StatefulSet "slow" has timed out progressing: no progress for 3 s; pod slow-1: /,
    );
    expect(status?.conditions).toMatchObject([
      { type: "Progressing", status: "False", reason, message },
      { type: "RolloutComplete", status: "False", reason, message },
    ]);
    // The deadline survives a restart of the controller, and a later success ends it.
    await cluster.stopControllers();
    await cluster.startControllers();
    await kubectl.ok("wait statefulset/slow --for=condition=Progressing=False --timeout=10s");
    await kubectl.ok("rollout undo statefulset/slow");
    await kubectl.ok("delete pod slow-1");
    await kubectl.ok("wait statefulset/slow --for=condition=RolloutComplete --timeout=60s");
  });

  test("delete --cascade=orphan leaves the pods, which a new set of that name adopts", async () => {
    await cluster.create("left", { replicas: 2 });
    await cluster.untilPicture("left", all("left", 2, "web:1"));
    const uids = async () => {
      const revisions = await cluster.client.list("controllerrevisions", {
        namespace: "default",
        labelSelector: "app=left",
      });
      return [...(await cluster.pods("left")), ...revisions.items].map(({ metadata }) => metadata.uid);
    };
    const before = await uids();
    await kubectl.ok("delete statefulset left --cascade=orphan --timeout=60s");
    await cluster.create("left", { replicas: 2 });
    await kubectl.ok("rollout status statefulset/left --timeout=60s");
    expect(await uids()).toEqual(before);
  });
});
