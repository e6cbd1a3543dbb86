import { afterAll, beforeAll, expect, test } from "vitest";
import { createKubectl, type Kubectl } from "../support/kubectl.ts";
import {
  brokenImage,
  type StatefulSetCluster,
  startStatefulSetCluster,
} from "../support/stateful-set-cluster.ts";
import { describeWithTool } from "../support/tools.ts";

describeWithTool("kubectl", "kubectl on StatefulSets", () => {
  let cluster: StatefulSetCluster;
  let kubectl: Kubectl;
  beforeAll(async () => {
    cluster = await startStatefulSetCluster();
    await cluster.startControllers();
    kubectl = createKubectl(cluster.server.kubeconfig);
  });
  afterAll(() => cluster?.close());

  const complete =
    /partitioned roll out complete: 3 new pods|rolling update complete 3 pods at revision web-/;
  const all = (name: string, count: number, image: string) =>
    Array.from({ length: count }, (_, ordinal) => `${name}-${ordinal}=${image} ready`);

  test("rollout status waits for the rollout, and undo goes back", async () => {
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

  test("scale adds and takes away pods from the end", async () => {
    await cluster.create("size", { replicas: 1 });
    await cluster.untilPicture("size", all("size", 1, "web:1"));
    await kubectl.ok("scale statefulset/size --replicas=3");
    await cluster.untilPicture("size", all("size", 3, "web:1"));
    await kubectl.ok("scale statefulset/size --replicas=1");
    await cluster.untilPicture("size", all("size", 1, "web:1"));
  });

  test("wait tells at once that a rollout is held up, and describe tells why", async () => {
    await cluster.create("bad", { image: brokenImage });
    await kubectl.ok("wait statefulset/bad --for=condition=Progressing=false --timeout=60s");
    const jsonpath = '{.status.conditions[?(@.type=="Progressing")].message}';
    const message = await kubectl.ok(["get", "statefulset", "bad", "-o", `jsonpath=${jsonpath}`]);
    expect(message).toMatch(/^pod bad-0 holds up the set: .*couldn't parse image/i);
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
