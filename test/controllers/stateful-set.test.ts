import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ControllerRevision, PersistentVolumeClaim, Pod } from "../../src/api/objects.ts";
import {
  brokenImage,
  type StatefulSetCluster,
  startStatefulSetCluster,
} from "../support/stateful-set-cluster.ts";

let cluster: StatefulSetCluster;
beforeAll(async () => {
  cluster = await startStatefulSetCluster();
  await cluster.startControllers();
});
afterAll(() => cluster?.close());

const namespace = "default";
const ready = (name: string, count: number, image = "web:1") =>
  Array.from({ length: count }, (_, ordinal) => `${name}-${ordinal}=${image} ready`);
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

async function revisions(set: string): Promise<readonly ControllerRevision[]> {
  const { items } = await cluster.client.list("controllerrevisions", {
    namespace,
    labelSelector: `app=${set}`,
  });
  return [...items].sort((a, b) => a.revision - b.revision);
}

describe("pods", () => {
  test("come one after the other, with stable names, labels and host names, and the status tells", async () => {
    const log = await cluster.follow("web");
    await cluster.create("web", { replicas: 3 });
    await cluster.untilPicture("web", ready("web", 3));
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
      conditions: [{ type: "Progressing", status: "True", reason: "RolloutComplete" }],
    });
    expect(status?.currentRevision).toBe(status?.updateRevision);
    await cluster.until("events tell", async () => (await cluster.events("web")).length === 3);
    const [event] = await cluster.events("web");
    expect(event).toMatchObject({
      reason: "SuccessfulCreate",
      message: "Create Pod web-0 in StatefulSet web successful",
      source: { component: "statefulset-controller" },
    });
  });

  test("in order, each waits for the one before it; side by side none does", async () => {
    const rule = cluster.simulated.rules.add({ match: { pod: "*-0" }, container: { startError: "not yet" } });
    await cluster.create("ordered", { replicas: 3 });
    await cluster.create("parallel", { replicas: 3, spec: { podManagementPolicy: "Parallel" } });
    await cluster.untilPicture("parallel", [
      "parallel-0=web:1 waiting",
      "parallel-1=web:1 ready",
      "parallel-2=web:1 ready",
    ]);
    expect(await cluster.picture("ordered")).toEqual(["ordered-0=web:1 waiting"]);
    cluster.simulated.rules.remove(rule);
    await cluster.untilPicture("ordered", ready("ordered", 3), 60_000);
  });

  test("begin at spec.ordinals.start, and move when it moves", async () => {
    await cluster.create("late", { replicas: 2, spec: { ordinals: { start: 5 } } });
    await cluster.untilPicture("late", ["late-5=web:1 ready", "late-6=web:1 ready"]);
    await cluster.patch("late", { spec: { ordinals: { start: 6 } } });
    await cluster.untilPicture("late", ["late-6=web:1 ready", "late-7=web:1 ready"]);
  });

  test("that have ended are made again", async () => {
    await cluster.create("ended", { replicas: 1 });
    await cluster.untilPicture("ended", ready("ended", 1));
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
    await cluster.untilPicture("ended", ready("ended", 1));
    expect((await cluster.pods("ended"))[0]?.metadata.uid).not.toBe(pod?.metadata.uid);
  });

  test("are adopted when they have the name and the labels, and released when they lose them", async () => {
    await cluster.create("family", { replicas: 1 });
    await cluster.untilPicture("family", ready("family", 1));
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

  test("another's pod of that name is left alone, and waited for", async () => {
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
    await cluster.untilPicture("taken", ready("taken", 1));
  });

  test("get their label back when somebody takes it", async () => {
    await cluster.create("named", { replicas: 1 });
    await cluster.untilPicture("named", ready("named", 1));
    const body = { metadata: { labels: { "statefulset.kubernetes.io/pod-name": "other" } } };
    await cluster.client.patch("pods", { namespace, name: "named-0" }, { patch: { kind: "merge", body } });
    await cluster.until("the label is right", async () => {
      const [pod] = await cluster.pods("named");
      return pod?.metadata.labels?.["statefulset.kubernetes.io/pod-name"] === "named-0";
    });
  });
});

describe("updates", () => {
  test("stop at the partition, and go on when it moves", async () => {
    const rollingUpdate = { partition: 2 };
    await cluster.create("part", {
      replicas: 3,
      spec: { updateStrategy: { type: "RollingUpdate", rollingUpdate } },
    });
    await cluster.untilPicture("part", ready("part", 3));
    await cluster.setImage("part", "web:2");
    await cluster.untilPicture("part", ["part-0=web:1 ready", "part-1=web:1 ready", "part-2=web:2 ready"]);
    await cluster.until(
      "the status tells",
      async () => (await cluster.get("part")).status?.updatedReplicas === 1,
    );
    const { status } = await cluster.get("part");
    expect(status?.currentRevision).not.toBe(status?.updateRevision);
    // A pod below it comes back as it was.
    await cluster.client.delete("pods", { namespace, name: "part-0" });
    await cluster.untilPicture("part", ["part-0=web:1 ready", "part-1=web:1 ready", "part-2=web:2 ready"]);
    await cluster.patch("part", { spec: { updateStrategy: { rollingUpdate: { partition: 0 } } } });
    await cluster.untilPicture("part", ready("part", 3, "web:2"));
  });

  test("take as many at once as may be unavailable", async () => {
    const updateStrategy = { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 2 } };
    await cluster.create("two", { replicas: 4, spec: { updateStrategy, podManagementPolicy: "Parallel" } });
    await cluster.untilPicture("two", ready("two", 4));
    const log = await cluster.follow("two");
    await cluster.setImage("two", brokenImage);
    await cluster.until("two are replaced", async () => log.lines.length === 4);
    await delay(500);
    await log.stop();
    expect(log.lines.filter((line) => line.startsWith("-")).sort()).toEqual(["-two-2=web:1", "-two-3=web:1"]);
  });

  test("OnDelete leaves pods until they are deleted", async () => {
    await cluster.create("manual", { replicas: 2, spec: { updateStrategy: { type: "OnDelete" } } });
    await cluster.untilPicture("manual", ready("manual", 2));
    await cluster.setImage("manual", "web:2");
    await cluster.until("the condition tells", async () => {
      const { conditions = [] } = (await cluster.get("manual")).status ?? {};
      return conditions[0]?.reason === "WaitingForDelete";
    });
    expect(await cluster.picture("manual")).toEqual(ready("manual", 2));
    await cluster.client.delete("pods", { namespace, name: "manual-0" });
    await cluster.untilPicture("manual", ["manual-0=web:2 ready", "manual-1=web:1 ready"]);
  });

  test("count a pod as available after minReadySeconds only", async () => {
    await cluster.create("slow", { replicas: 2, spec: { minReadySeconds: 2 } });
    await cluster.until(
      "the first is ready",
      async () => (await cluster.get("slow")).status?.readyReplicas === 1,
    );
    const { status } = await cluster.get("slow");
    expect(status).toMatchObject({
      availableReplicas: 0,
      conditions: [{ status: "True", reason: "MinReadySeconds" }],
    });
    expect(await cluster.picture("slow")).toHaveLength(1);
    await cluster.until(
      "both are available",
      async () => (await cluster.get("slow")).status?.availableReplicas === 2,
    );
  });

  test("keep as much history as is asked for, and reuse a revision that is asked for again", async () => {
    await cluster.create("past", { replicas: 1, spec: { revisionHistoryLimit: 2 } });
    for (const image of ["web:1", "web:2", "web:3", "web:4", "web:5"]) {
      await cluster.setImage("past", image);
      await cluster.untilPicture("past", ready("past", 1, image));
      await cluster.until("it is complete", async () => {
        const { status } = await cluster.get("past");
        return status?.currentRevision === status?.updateRevision && status?.readyReplicas === 1;
      });
    }
    await cluster.until("older ones are gone", async () => (await revisions("past")).length === 3);
    expect((await revisions("past")).map(({ revision }) => revision)).toEqual([3, 4, 5]);
    const [third] = await revisions("past");
    await cluster.setImage("past", "web:3");
    await cluster.untilPicture("past", ready("past", 1, "web:3"));
    const newest = (await revisions("past")).at(-1);
    expect(newest).toMatchObject({ revision: 6, metadata: { uid: third?.metadata.uid } });
  });

  test("find another name when a revision's is taken", async () => {
    await cluster.create("clash", { replicas: 0 });
    await cluster.until("its revision is there", async () => (await revisions("clash")).length === 1);
    const [first] = await revisions("clash");
    await cluster.stopControllers();
    await cluster.client.delete("statefulsets", { namespace, name: "clash" });
    const { name = "" } = first?.metadata ?? {};
    await cluster.client.delete("controllerrevisions", { namespace, name });
    const stranger = { metadata: { name, namespace }, data: { other: true }, revision: 1 };
    await cluster.client.create("controllerrevisions", stranger as unknown as ControllerRevision);
    await cluster.create("clash", { replicas: 0 });
    await cluster.startControllers();
    await cluster.until("it counts", async () => (await cluster.get("clash")).status?.collisionCount === 1);
    expect((await cluster.get("clash")).status?.updateRevision).not.toBe(name);
  });
});

describe("claims", () => {
  test("are made before their pod, and stay when pods go", async () => {
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

  test("go with the set, or with the pod that is scaled away, as the policy says", async () => {
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
    expect(await owners()).toEqual([set, set]);
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
    await cluster.until("nobody's any more", async () => (await owners())[0] === undefined);
    await cluster.node.start();
  });
});

describe("doing nothing", () => {
  test("costs no call, and a dry run only says what it would do", async () => {
    await cluster.create("calm", { replicas: 2 });
    await cluster.untilPicture("calm", ready("calm", 2));
    await cluster.until(
      "it is complete",
      async () => (await cluster.get("calm")).status?.availableReplicas === 2,
    );
    let looks = 0;
    // Other sets may ask for something in one second, and in the next.
    await cluster.until("they look, and ask for nothing", async () => {
      const metadata = { labels: { look: `${looks++}` } };
      await cluster.patch("calm", { metadata });
      const [pod] = await cluster.pods("calm");
      const patch = { kind: "merge", body: { metadata } } as const;
      const before = cluster.calls();
      await cluster.client.patch("pods", { namespace: "default", name: pod?.metadata.name ?? "" }, { patch });
      await delay(1_000);
      return cluster.calls() === before;
    });
    await cluster.stopControllers();
    const said: unknown[][] = [];
    const log = (...line: unknown[]) => void said.push(line);
    const logger = {
      debugging: false,
      debug() {},
      info: log,
      warn: log,
      error: log,
      component: () => logger,
    };
    await cluster.startControllers({ dryRun: true, logger });
    await delay(500);
    // What is as it should be asks for no write.
    expect(said.filter(([, fields]) => JSON.stringify(fields).includes("calm"))).toEqual([]);
    await cluster.setImage("calm", "web:2");
    await cluster.until("it says so", async () => said.some(([message]) => message === "would delete"));
    expect(said.map(([message]) => message)).toContain("would create");
    await delay(300);
    expect(await cluster.picture("calm")).toEqual(ready("calm", 2));
    await cluster.stopControllers();
    await cluster.startControllers();
    await cluster.untilPicture("calm", ready("calm", 2, "web:2"));
  });
});
