import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { PersistentVolumeClaim, Pod } from "../../src/api/meta/objects.ts";
import { readyPods, useStatefulSetCluster } from "../support/cluster/stateful-set-cluster.ts";

const cluster = useStatefulSetCluster();

const namespace = "default";

describe("pods", () => {
  test("are created one after the other, with stable names, labels and host names, and counted in the status", async () => {
    const log = await cluster.followPods("web");
    await cluster.create("web", { replicas: 3 });
    await cluster.untilPicture("web", readyPods("web", 3));
    await log.stop();
    expect(log.lines).toEqual(["+web-0=web:1", "+web-1=web:1", "+web-2=web:1"]);
    const pods = await cluster.pods("web");
    await cluster.until(
      "the status is complete",
      async () => (await cluster.get("web")).status?.availableReplicas === 3,
    );
    const { status, metadata } = await cluster.get("web");
    expect(pods[1]).toMatchObject({
      metadata: {
        generateName: "web-",
        labels: {
          app: "web",
          "statefulset.kubernetes.io/pod-name": "web-1",
          "apps.kubernetes.io/pod-index": "1",
          "controller-revision-hash": status?.updateRevision,
        },
        ownerReferences: [{ kind: "StatefulSet", name: "web", uid: metadata.uid, controller: true }],
      },
      spec: { hostname: "web-1", subdomain: "web" },
    });
    expect(status).toMatchObject({
      observedGeneration: 1,
      replicas: 3,
      readyReplicas: 3,
      currentReplicas: 3,
      updatedReplicas: 3,
      collisionCount: 0,
      conditions: [
        { type: "Progressing", status: "True", reason: "RolloutComplete" },
        { type: "RolloutComplete", status: "True", reason: "RolloutComplete" },
      ],
    });
    expect(status?.currentRevision).toBe(status?.updateRevision);
    await cluster.until("the events are recorded", async () => (await cluster.events("web")).length === 3);
    const [event] = await cluster.events("web");
    expect(event).toMatchObject({
      reason: "SuccessfulCreate",
      message: "Create Pod web-0 in StatefulSet web successful",
      source: { component: "statefulset-controller" },
    });
  });

  test("OrderedReady waits for each predecessor, Parallel does not", async () => {
    const rule = cluster.simulated.rules.add({ match: { pod: "*-0" }, container: { startError: "not yet" } });
    await cluster.create("ordered", { replicas: 3 });
    await cluster.create("parallel", { replicas: 3, spec: { podManagementPolicy: "Parallel" } });
    await cluster.untilPicture("parallel", [
      "parallel-0=web:1 waiting",
      "parallel-1=web:1 ready",
      "parallel-2=web:1 ready",
    ]);
    await cluster.untilPicture("ordered", ["ordered-0=web:1 waiting"]);
    cluster.simulated.rules.remove(rule);
    await cluster.untilPicture("ordered", readyPods("ordered", 3), 60_000);
  });

  test("begin at spec.ordinals.start, and move when it moves", async () => {
    await cluster.create("late", { replicas: 2, spec: { ordinals: { start: 5 } } });
    await cluster.untilPicture("late", ["late-5=web:1 ready", "late-6=web:1 ready"]);
    await cluster.patch("late", { spec: { ordinals: { start: 6 } } });
    await cluster.untilPicture("late", ["late-6=web:1 ready", "late-7=web:1 ready"]);
  });

  test("that have terminated are recreated", async () => {
    await cluster.create("ended", { replicas: 1 });
    await cluster.untilPicture("ended", readyPods("ended", 1));
    const [pod] = await cluster.pods("ended");
    // As a kubelet that evicts it.
    const body = { status: { phase: "Failed", reason: "Evicted" } };
    await cluster.node.stop();
    await cluster.client.patch(
      "pods",
      { namespace, name: "ended-0" },
      { patch: { kind: "merge", body }, subresource: "status" },
    );
    await cluster.until("it is deleted", async () => {
      const [now] = await cluster.pods("ended");
      return now?.metadata.uid !== pod?.metadata.uid || now?.metadata.deletionTimestamp !== undefined;
    });
    await cluster.node.start();
    await cluster.untilPicture("ended", readyPods("ended", 1));
    expect((await cluster.pods("ended"))[0]?.metadata.uid).not.toBe(pod?.metadata.uid);
  });

  test("are adopted when they have the name and the labels, and released when they lose them", async () => {
    await cluster.create("family", { replicas: 1 });
    await cluster.untilPicture("family", readyPods("family", 1));
    const [own] = await cluster.pods("family");
    const patch = (name: string, metadata: object) =>
      cluster.client.patch("pods", { namespace, name }, { patch: { kind: "merge", body: { metadata } } });
    await patch("family-0", { labels: { app: "stranger" } });
    await cluster.until("it is released", async () => {
      const pod = await cluster.client.get("pods", { namespace, name: "family-0" });
      return (pod.metadata.ownerReferences ?? []).length === 0;
    });
    await patch("family-0", { labels: { app: "family" } });
    await cluster.until("it is adopted", async () => {
      const pod = await cluster.client.get("pods", { namespace, name: "family-0" });
      return pod.metadata.ownerReferences?.[0]?.name === "family" && pod.metadata.uid === own?.metadata.uid;
    });
  });

  test("a pod with that name of another owner is not changed, and the set waits for its deletion", async () => {
    const stranger = {
      metadata: { name: "taken-0", namespace },
      spec: { containers: [{ name: "c", image: "x" }] },
    };
    await cluster.client.create("pods", stranger as Pod);
    await cluster.create("taken", { replicas: 1 });
    await delay(500);
    expect(
      (await cluster.client.get("pods", { namespace, name: "taken-0" })).metadata.labels,
    ).toBeUndefined();
    await cluster.client.delete("pods", { namespace, name: "taken-0" }, { gracePeriodSeconds: 0 });
    await cluster.untilPicture("taken", readyPods("taken", 1));
  });

  test("get their label back when it is removed", async () => {
    await cluster.create("named", { replicas: 1 });
    await cluster.untilPicture("named", readyPods("named", 1));
    const body = { metadata: { labels: { "statefulset.kubernetes.io/pod-name": "other" } } };
    await cluster.client.patch("pods", { namespace, name: "named-0" }, { patch: { kind: "merge", body } });
    await cluster.until("the label is right", async () => {
      const [pod] = await cluster.pods("named");
      return pod?.metadata.labels?.["statefulset.kubernetes.io/pod-name"] === "named-0";
    });
  });
});

describe("claims", () => {
  const claimTemplates = [
    {
      metadata: { name: "data" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } },
    },
  ];

  async function claims(set: string): Promise<readonly PersistentVolumeClaim[]> {
    const { items } = await cluster.client.list("persistentvolumeclaims", {
      namespace,
      labelSelector: `app=${set}`,
    });
    return items;
  }

  test("are created before their pod and kept when pods are deleted", async () => {
    await cluster.create("store", {
      replicas: 2,
      spec: { volumeClaimTemplates: claimTemplates, podManagementPolicy: "Parallel" },
    });
    await cluster.until("both pods are there", async () => (await cluster.pods("store")).length === 2);
    expect((await claims("store")).map(({ metadata }) => metadata.name)).toEqual([
      "data-store-0",
      "data-store-1",
    ]);
    const [pod] = await cluster.pods("store");
    expect(pod?.spec?.volumes).toEqual([
      { name: "data", persistentVolumeClaim: { claimName: "data-store-0" } },
    ]);
    const before = (await claims("store")).map(({ metadata }) => metadata.uid);
    await cluster.patch("store", { spec: { replicas: 0 } });
    await cluster.until("all pods are gone", async () => (await cluster.pods("store")).length === 0);
    await cluster.patch("store", { spec: { replicas: 2 } });
    await cluster.until("both are back", async () => (await cluster.pods("store")).length === 2);
    expect((await claims("store")).map(({ metadata }) => metadata.uid)).toEqual(before);
  });

  test("are deleted with the set or with the scaled-down pod, depending on the retention policy", async () => {
    const policy = { whenDeleted: "Delete", whenScaled: "Delete" };
    const spec = {
      volumeClaimTemplates: claimTemplates,
      podManagementPolicy: "Parallel",
      persistentVolumeClaimRetentionPolicy: policy,
    };
    const { metadata } = await cluster.create("gone", { replicas: 2, spec });
    await cluster.until("both pods are there", async () => (await cluster.pods("gone")).length === 2);
    const owners = async () =>
      (await claims("gone")).map((claim) =>
        claim.metadata.ownerReferences?.map(({ kind, uid }) => `${kind}/${uid}`).join(),
      );
    const set = `StatefulSet/${metadata.uid}`;
    await cluster.until(
      "both claims go with the set",
      async () => (await owners()).join() === `${set},${set}`,
    );
    const [, second] = await cluster.pods("gone");
    await cluster.node.stop();
    await cluster.patch("gone", { spec: { replicas: 1 } });
    await cluster.until(
      "the second claim goes with its pod",
      async () => (await owners())[1] === `Pod/${second?.metadata.uid}`,
    );
    await cluster.patch("gone", {
      spec: {
        replicas: 1,
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" },
      },
    });
    await cluster.until("the pod has no owner", async () => (await owners())[0] === undefined);
    await cluster.node.start();
  });
});
