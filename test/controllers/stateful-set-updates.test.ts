import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { ControllerRevision } from "../../src/api/meta/objects.ts";
import { brokenImage, readyPods, useStatefulSetCluster } from "../support/cluster/stateful-set-cluster.ts";

const cluster = useStatefulSetCluster();

const namespace = "default";

async function revisions(set: string): Promise<readonly ControllerRevision[]> {
  const { items } = await cluster.client.list("controllerrevisions", {
    namespace,
    labelSelector: `app=${set}`,
  });
  return [...items].sort((a, b) => a.revision - b.revision);
}

describe("updates", () => {
  test("stop at the partition and continue when it is lowered", async () => {
    const rollingUpdate = { partition: 2 };
    await cluster.create("part", {
      replicas: 3,
      spec: { updateStrategy: { type: "RollingUpdate", rollingUpdate } },
    });
    await cluster.untilPicture("part", readyPods("part", 3));
    await cluster.setImage("part", "web:2");
    await cluster.untilPicture("part", ["part-0=web:1 ready", "part-1=web:1 ready", "part-2=web:2 ready"]);
    await cluster.until(
      "the status is updated",
      async () => (await cluster.get("part")).status?.updatedReplicas === 1,
    );
    const { status } = await cluster.get("part");
    expect(status?.currentRevision).not.toBe(status?.updateRevision);
    // A pod below the partition is recreated with the old template.
    await cluster.client.delete("pods", { namespace, name: "part-0" });
    await cluster.untilPicture("part", ["part-0=web:1 ready", "part-1=web:1 ready", "part-2=web:2 ready"]);
    await cluster.patch("part", { spec: { updateStrategy: { rollingUpdate: { partition: 0 } } } });
    await cluster.untilPicture("part", readyPods("part", 3, "web:2"));
  });

  test("replace as many pods at once as maxUnavailable allows", async () => {
    const updateStrategy = { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 2 } };
    await cluster.create("two", { replicas: 4, spec: { updateStrategy, podManagementPolicy: "Parallel" } });
    await cluster.untilPicture("two", readyPods("two", 4));
    const log = await cluster.followPods("two");
    await cluster.setImage("two", brokenImage);
    await cluster.until("two are replaced", async () => log.lines.length === 4);
    await delay(500);
    await log.stop();
    expect(log.lines.filter((line) => line.startsWith("-")).sort()).toEqual(["-two-2=web:1", "-two-3=web:1"]);
  });

  test("OnDelete leaves pods until they are deleted", async () => {
    await cluster.create("manual", { replicas: 2, spec: { updateStrategy: { type: "OnDelete" } } });
    await cluster.untilPicture("manual", readyPods("manual", 2));
    await cluster.setImage("manual", "web:2");
    await cluster.until("the condition is set", async () => {
      const { conditions = [] } = (await cluster.get("manual")).status ?? {};
      return conditions[0]?.reason === "WaitingForDelete";
    });
    expect(await cluster.picture("manual")).toEqual(readyPods("manual", 2));
    await cluster.client.delete("pods", { namespace, name: "manual-0" });
    await cluster.untilPicture("manual", ["manual-0=web:2 ready", "manual-1=web:1 ready"]);
  });

  test("count a pod as available after minReadySeconds only", async () => {
    // Longer than any test waits, until the test changes it.
    await cluster.create("slow", { replicas: 2, spec: { minReadySeconds: 3_600 } });
    await cluster.until(
      "the first is ready",
      async () => (await cluster.get("slow")).status?.readyReplicas === 1,
    );
    const { status } = await cluster.get("slow");
    expect(status).toMatchObject({
      availableReplicas: 0,
      conditions: [
        { type: "Progressing", status: "True", reason: "MinReadySeconds" },
        { type: "RolloutComplete", status: "False", reason: "MinReadySeconds" },
      ],
    });
    expect(await cluster.picture("slow")).toHaveLength(1);
    await cluster.patch("slow", { spec: { minReadySeconds: 1 } });
    await cluster.until(
      "both are available",
      async () => (await cluster.get("slow")).status?.availableReplicas === 2,
    );
  });

  test("keep revisionHistoryLimit revisions, and reuse the revision of an earlier template", async () => {
    await cluster.create("past", { replicas: 1, spec: { revisionHistoryLimit: 2 } });
    for (const image of ["web:1", "web:2", "web:3", "web:4", "web:5"]) {
      await cluster.setImage("past", image);
      await cluster.untilPicture("past", readyPods("past", 1, image));
      await cluster.until("it is complete", async () => {
        const { status } = await cluster.get("past");
        return status?.currentRevision === status?.updateRevision && status?.readyReplicas === 1;
      });
    }
    await cluster.until("older ones are gone", async () => (await revisions("past")).length === 3);
    expect((await revisions("past")).map(({ revision }) => revision)).toEqual([3, 4, 5]);
    const [third] = await revisions("past");
    await cluster.setImage("past", "web:3");
    await cluster.untilPicture("past", readyPods("past", 1, "web:3"));
    const newest = (await revisions("past")).at(-1);
    expect(newest).toMatchObject({ revision: 6, metadata: { uid: third?.metadata.uid } });
  });

  test("choose another name when the name of a revision is in use", async () => {
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

test("an idle controller sends no requests, and a dry run only logs its actions", async () => {
  await cluster.create("calm", { replicas: 2 });
  await cluster.untilPicture("calm", readyPods("calm", 2));
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
  expect(await cluster.picture("calm")).toEqual(readyPods("calm", 2));
  await cluster.stopControllers();
  await cluster.startControllers();
  await cluster.untilPicture("calm", readyPods("calm", 2, "web:2"));
});
