import { describe, expect, test } from "vitest";
import type { StatefulSet } from "../../src/api/meta/objects.ts";
import { brokenImage, useStatefulSetCluster } from "../support/cluster/stateful-set-cluster.ts";
import { rounds } from "../support/fuzz/rounds.ts";

const cluster = useStatefulSetCluster({ features: { StatefulSetRecreateStrategy: true } });

const recreate = { updateStrategy: { type: "Recreate" } };
const volumeClaimTemplates = [
  {
    metadata: { name: "data" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } },
  },
];

const progressing = ({ status }: StatefulSet) =>
  status?.conditions?.find(({ type }) => type === "Progressing");

function all(name: string, state: string): string[] {
  return [0, 1, 2].map((ordinal) => `${name}-${ordinal}=${state}`);
}

async function untilReason(name: string, reason: string): Promise<void> {
  await cluster.until(
    `${name} is ${reason}`,
    async () => progressing(await cluster.get(name))?.reason === reason,
  );
}

async function claimUids(name: string): Promise<(string | undefined)[]> {
  const { items } = await cluster.client.list("persistentvolumeclaims", { namespace: "default" });
  return items
    .filter(({ metadata }) => metadata.name?.startsWith(`data-${name}-`))
    .map(({ metadata }) => metadata.uid)
    .sort();
}

describe.each([
  ["ordered", "OrderedReady"],
  ["side", "Parallel"],
])("%s: Recreate with %s", (name, podManagementPolicy) => {
  test("all old pods are deleted before the first new one is created, and their claims are kept", async () => {
    await cluster.create(name, { spec: { ...recreate, podManagementPolicy, volumeClaimTemplates } });
    await cluster.untilPicture(name, all(name, "web:1 ready"));
    await untilReason(name, "RolloutComplete");
    const claims = await claimUids(name);
    expect(claims).toHaveLength(3);

    const log = await cluster.followPods(name);
    await cluster.setImage(name, "web:2");
    await cluster.untilPicture(name, all(name, "web:2 ready"));
    await untilReason(name, "RecreateCompleted");
    await log.stop();
    expect(log.lines.slice(0, 3).sort()).toEqual(all(`-${name}`, "web:1"));
    const created = log.lines.slice(3);
    const inOrder = all(`+${name}`, "web:2");
    expect(podManagementPolicy === "Parallel" ? created.toSorted() : created).toEqual(inOrder);
    expect(progressing(await cluster.get(name))).toMatchObject({
      status: "False",
      message: "All pods recreated successfully",
    });
    expect(await claimUids(name)).toEqual(claims);
  });
});

test("a pod that does not terminate blocks every new one", async () => {
  const name = "slow";
  await cluster.create(name, { spec: { ...recreate, podManagementPolicy: "Parallel" } });
  await cluster.untilPicture(name, all(name, "web:1 ready"));
  const finalizers = ["example.com/wait"];
  const held = { namespace: "default", name: "slow-1" };
  const setFinalizers = (finalizers: string[] | null) =>
    cluster.client.patch("pods", held, { patch: { kind: "merge", body: { metadata: { finalizers } } } });
  await setFinalizers(finalizers);
  await cluster.setImage(name, "web:2");
  await cluster.untilPicture(name, ["slow-1=web:1 terminating"]);
  // The controllers observe the deletion of the others together with the set's status.
  await cluster.until("it is counted", async () => (await cluster.get(name)).status?.replicas === 1);
  expect(progressing(await cluster.get(name))).toMatchObject({
    status: "True",
    reason: "RecreateInProgress",
    message: "Deleting old revision pods",
  });
  expect(await cluster.picture(name)).toEqual(["slow-1=web:1 terminating"]);
  await setFinalizers(null);
  await cluster.untilPicture(name, all(name, "web:2 ready"));
});

test("a fixed template replaces a broken one, also with OrderedReady, and the condition names the blocking pod until then", async () => {
  const name = "broken";
  await cluster.create(name, { spec: recreate });
  await cluster.untilPicture(name, all(name, "web:1 ready"));
  await cluster.setImage(name, brokenImage);
  await cluster.untilPicture(name, [`broken-0=${brokenImage} waiting`]);
  await untilReason(name, "InvalidImageName");
  expect(progressing(await cluster.get(name))).toMatchObject({
    status: "False",
    message: expect.stringContaining("pod broken-0 blocks the rollout"),
  });
  await cluster.setImage(name, "web:2");
  await cluster.untilPicture(name, all(name, "web:2 ready"));
  await untilReason(name, "RecreateCompleted");
});

test("controllers with the gate off do not change the set and record an event; with the gate on they continue", async () => {
  const name = "off";
  await cluster.create(name, { spec: recreate });
  await cluster.untilPicture(name, all(name, "web:1 ready"));
  await cluster.stopControllers();
  await cluster.startControllers({ features: { StatefulSetRecreateStrategy: false } });
  const log = await cluster.followPods(name);
  await cluster.setImage(name, "web:2");
  const message =
    "statefulset default/off uses Recreate strategy but feature gate StatefulSetRecreateStrategy is disabled";
  await cluster.until(
    "the condition says so",
    async () => progressing(await cluster.get(name))?.message === message,
  );
  await cluster.until("the event says so", async () =>
    (await cluster.events(name)).some((event) => event.type === "Warning" && event.message === message),
  );
  expect(log.lines).toEqual([]);
  await cluster.stopControllers();
  await cluster.startControllers();
  await cluster.untilPicture(name, all(name, "web:2 ready"));
  await log.stop();
  expect(log.lines.filter((line) => line.startsWith("two"))).toEqual([]);
});

test("at most one pod of an identity exists at a time and its claim is kept, also when controllers crash in between", async () => {
  const name = "crash";
  await cluster.create(name, {
    spec: { ...recreate, podManagementPolicy: "Parallel", volumeClaimTemplates },
  });
  await cluster.untilPicture(name, all(name, "web:1 ready"));
  const claims = await claimUids(name);
  const log = await cluster.followPods(name);
  const restarts = 1 + rounds(1);
  for (let round = 0; round < restarts; round++) {
    const seen = log.lines.length;
    await cluster.setImage(name, round % 3 === 1 ? brokenImage : `web:${round}-x`);
    // Broken off as soon as something happens to a pod: in the middle.
    await cluster.until("something happens", async () => log.lines.length > seen);
    await cluster.stopControllers();
    await cluster.startControllers();
  }
  await cluster.setImage(name, "web:last");
  await cluster.untilPicture(name, all(name, "web:last ready"));
  await log.stop();
  expect(log.lines.filter((line) => line.startsWith("two"))).toEqual([]);
  expect(await claimUids(name)).toEqual(claims);
});
