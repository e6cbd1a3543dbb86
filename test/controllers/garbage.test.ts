import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import type { KubeObject, OwnerReference } from "../../src/api/meta/objects.ts";
import { useKubectlCluster } from "../support/cluster/kubectl-cluster.ts";
import { makeConfigMap } from "../support/manifests/config-map.ts";
import { describeWithTool } from "../support/programs/tools.ts";

describeWithTool("kubectl", "garbage collection", () => {
  const cluster = useKubectlCluster({ nodes: [], scheduler: false });
  const find = (name: string) => cluster.find("configmaps", name);
  const until = (what: () => Promise<unknown>) => expect.poll(what, { interval: 20 });

  async function create(name: string, metadata: Partial<KubeObject["metadata"]> = {}): Promise<KubeObject> {
    return cluster.client.create("configmaps", makeConfigMap(name, metadata));
  }
  const refer = ({ apiVersion, kind, metadata }: KubeObject, blockOwnerDeletion = false): OwnerReference => ({
    apiVersion,
    kind,
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    blockOwnerDeletion,
  });
  /** `top` owns `middle` owns `leaf`. */
  async function createChain(prefix: string, leaf: Partial<KubeObject["metadata"]> = {}): Promise<void> {
    const top = await create(`${prefix}-top`);
    const middle = await create(`${prefix}-middle`, { ownerReferences: [refer(top, true)] });
    await create(`${prefix}-leaf`, { ownerReferences: [refer(middle, true)], ...leaf });
  }

  test("background deletion removes the owner first, then its dependents", async () => {
    await createChain("background");
    await cluster.kubectl.ok("delete configmap background-top --cascade=background");
    expect(await find("background-top")).toBeUndefined();
    await cluster.untilGone("configmaps", "background-middle");
    await cluster.untilGone("configmaps", "background-leaf");
  });

  test("foreground deletion removes the owner last", async () => {
    await createChain("foreground", { finalizers: ["example.com/hold"] });
    await cluster.kubectl.ok("delete configmap foreground-top --cascade=foreground --wait=false");
    await until(async () => (await find("foreground-leaf"))?.metadata.deletionTimestamp).toBeTruthy();
    for (const name of ["foreground-top", "foreground-middle"]) {
      expect((await find(name))?.metadata).toMatchObject({
        finalizers: ["foregroundDeletion"],
        deletionTimestamp: expect.any(String),
      });
    }
    await cluster.kubectl.ok([
      "patch",
      "configmap",
      "foreground-leaf",
      "--type=merge",
      "-p",
      '{"metadata":{"finalizers":null}}',
    ]);
    await cluster.kubectl.ok("wait configmap/foreground-top --for=delete --timeout=60s");
    expect(await find("foreground-middle")).toBeUndefined();
  });

  test("in the foreground: a dependent that does not block is not waited for", async () => {
    const top = await create("loose-top");
    await create("loose-child", { ownerReferences: [refer(top)], finalizers: ["example.com/hold"] });
    await cluster.kubectl.ok("delete configmap loose-top --cascade=foreground --timeout=60s");
    expect(await find("loose-child")).toBeDefined();
    await until(async () => (await find("loose-child"))?.metadata.deletionTimestamp).toBeTruthy();
    await cluster.client.patch(
      "configmaps",
      { namespace: "default", name: "loose-child" },
      { patch: { kind: "merge", body: { metadata: { finalizers: null } } } },
    );
  });

  test("a cycle of owners does not block deletion", async () => {
    const first = await create("circle-1");
    const second = await create("circle-2", { ownerReferences: [refer(first, true)] });
    await cluster.client.patch(
      "configmaps",
      { namespace: "default", name: "circle-1" },
      { patch: { kind: "merge", body: { metadata: { ownerReferences: [refer(second, true)] } } } },
    );
    await cluster.kubectl.ok("delete configmap circle-1 --cascade=foreground --timeout=60s");
    await cluster.untilGone("configmaps", "circle-2");
  });

  test("orphans are kept without the owner reference", async () => {
    await createChain("orphan");
    await cluster.kubectl.ok("delete configmap orphan-top --cascade=orphan --timeout=60s");
    expect((await find("orphan-middle"))?.metadata.ownerReferences).toBeUndefined();
    await delay(300);
    expect((await find("orphan-leaf"))?.metadata.ownerReferences).toMatchObject([{ name: "orphan-middle" }]);
  });

  test("an owner that never existed counts as deleted; one existing owner keeps a shared dependent", async () => {
    const uid = "00000000-0000-4000-8000-000000000000";
    const never = { apiVersion: "v1", kind: "ConfigMap", name: "never", uid };
    const owner = await create("solid");
    await create("dangling", { ownerReferences: [never] });
    await create("wrong-uid", { ownerReferences: [{ ...refer(owner), uid }] });
    await create("shared", { ownerReferences: [never, refer(owner)] });
    await cluster.untilGone("configmaps", "dangling");
    await cluster.untilGone("configmaps", "wrong-uid");
    await until(async () => (await find("shared"))?.metadata.ownerReferences).toMatchObject([
      { name: "solid" },
    ]);
    expect(await find("solid")).toBeDefined();
  });

  test("an owner in another namespace is ignored, and an event reports it", async () => {
    const owner = await create("far-owner", {});
    await cluster.client.create(
      "configmaps",
      makeConfigMap("far", { namespace: "kube-public", ownerReferences: [refer(owner)] }),
    );
    await cluster.untilGone("configmaps", "far", "kube-public");
    await until(async () => {
      const { items } = await cluster.client.list("events", { namespace: "kube-public" });
      return items.map(({ reason, message }) => ({ reason, message }));
    }).toMatchObject([
      {
        reason: "OwnerRefInvalidNamespace",
        message: expect.stringMatching(
          /^ownerRef \[v1\/ConfigMap, namespace: kube-public, name: far-owner, uid: .*\] does not exist in namespace "kube-public"$/,
        ),
      },
    ]);
  });

  test("an owner of an unknown kind keeps its dependents", async () => {
    await create("strange", {
      ownerReferences: [{ apiVersion: "example.com/v1", kind: "Thing", name: "x", uid: "1" }],
    });
    await delay(500);
    expect(await find("strange")).toBeDefined();
  });

  test("continues after controllers stop in the middle, and sends no writes when it is done", async () => {
    await cluster.stopControllers();
    await createChain("restart");
    await createChain("restart-foreground");
    await createChain("restart-orphan");
    await cluster.kubectl.ok("delete configmap restart-top --cascade=background");
    await cluster.kubectl.ok("delete configmap restart-foreground-top --cascade=foreground --wait=false");
    await cluster.kubectl.ok("delete configmap restart-orphan-top --cascade=orphan --wait=false");
    await cluster.startControllers();
    for (const name of ["restart-leaf", "restart-foreground-top", "restart-orphan-top"]) {
      await cluster.untilGone("configmaps", name);
    }
    expect(await find("restart-orphan-leaf")).toBeDefined();
    await cluster.untilAtRest();
  });
});
