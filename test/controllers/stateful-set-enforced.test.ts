import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { StatefulSet } from "../../src/api/objects.ts";
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

const enforced = { updateStrategy: { type: "EnforcedRollingUpdate" } };
const rolling = { updateStrategy: { type: "RollingUpdate" } };
const parallel = { podManagementPolicy: "Parallel" };

const progressing = ({ status }: StatefulSet) =>
  status?.conditions?.find(({ type }) => type === "Progressing");

/** A set of three whose update to a broken template has come as far as it can. */
async function createBroken(name: string, spec: Record<string, unknown>): Promise<void> {
  await cluster.create(name, { replicas: 3, spec });
  await cluster.untilPicture(name, all(name, "web:1 ready"));
  await cluster.setImage(name, brokenImage);
  await cluster.untilPicture(name, [
    `${name}-0=web:1 ready`,
    `${name}-1=web:1 ready`,
    `${name}-2=${brokenImage} waiting`,
  ]);
}

function all(name: string, state: string): string[] {
  return [0, 1, 2].map((ordinal) => `${name}-${ordinal}=${state}`);
}

describe("KEP-3541 EnforcedRollingUpdate, the four scenarios", () => {
  test("3541-2 RollingUpdate: broken pods do not recover with a fixed template, and the set says which pod and what to do", async () => {
    await createBroken("stuck", rolling);
    await cluster.setImage("stuck", "web:2");
    await cluster.until("the condition tells", async () => {
      const { message = "" } = progressing(await cluster.get("stuck")) ?? {};
      return message.includes("RollingUpdate does not replace it");
    });
    expect(progressing(await cluster.get("stuck"))).toMatchObject({
      status: "False",
      reason: "InvalidImageName",
      message: expect.stringMatching(
        /^pod stuck-2 holds up the set: .*delete the pod, or use EnforcedRollingUpdate$/,
      ),
    });
    await delay(1_500);
    expect((await cluster.picture("stuck")).at(-1)).toBe(`stuck-2=${brokenImage} waiting`);

    // The way out that upstream documents.
    await cluster.client.delete("pods", { namespace: "default", name: "stuck-2" });
    await cluster.untilPicture("stuck", all("stuck", "web:2 ready"));
  });

  test("3541-3 EnforcedRollingUpdate: a fixed template recovers, pods replaced in order from the largest ordinal", async () => {
    await createBroken("freed", enforced);
    const log = await cluster.follow("freed");
    await cluster.setImage("freed", "web:2");
    await cluster.untilPicture("freed", all("freed", "web:2 ready"));
    await log.stop();
    expect(log.lines).toEqual([
      `-freed-2=${brokenImage}`,
      "+freed-2=web:2",
      "-freed-1=web:1",
      "+freed-1=web:2",
      "-freed-0=web:1",
      "+freed-0=web:2",
    ]);
    await cluster.until(
      "it is complete",
      async () => progressing(await cluster.get("freed"))?.reason === "RolloutComplete",
    );
  });

  test("3541-3 the same when every pod was broken from the start", async () => {
    await cluster.create("hopeless", { image: brokenImage, spec: enforced });
    await cluster.untilPicture("hopeless", all("hopeless", `${brokenImage} waiting`));
    const log = await cluster.follow("hopeless");
    await cluster.setImage("hopeless", "web:2");
    await cluster.untilPicture("hopeless", all("hopeless", "web:2 ready"));
    await log.stop();
    expect(log.lines.filter((line) => line.startsWith("-"))).toEqual(
      [2, 1, 0].map((ordinal) => `-hopeless-${ordinal}=${brokenImage}`),
    );
  });

  test("3541-4 another broken template: the largest ordinal is replaced, and no smaller one is touched", async () => {
    await createBroken("worse", enforced);
    const log = await cluster.follow("worse");
    await cluster.setImage("worse", "Worse:1");
    await cluster.untilPicture("worse", [
      "worse-0=web:1 ready",
      "worse-1=web:1 ready",
      "worse-2=Worse:1 waiting",
    ]);
    await delay(1_500);
    await log.stop();
    expect(log.lines).toEqual([`-worse-2=${brokenImage}`, "+worse-2=Worse:1"]);
    expect(progressing(await cluster.get("worse"))).toMatchObject({
      status: "False",
      reason: "InvalidImageName",
      message: expect.stringContaining("pod worse-2 holds up the set"),
    });
  });

  test.each([
    ["rolling", rolling],
    ["enforced", enforced],
  ])("3541-5 Parallel, %s: a fixed template recovers", async (name, strategy) => {
    const set = `side-${name}`;
    await cluster.create(set, { image: brokenImage, spec: { ...strategy, ...parallel } });
    await cluster.untilPicture(set, all(set, `${brokenImage} waiting`));
    await cluster.setImage(set, "web:2");
    await cluster.untilPicture(set, all(set, "web:2 ready"));
  });
});

describe("KEP-3541, its two places", () => {
  test("3541-3 place 1: pods that are not ready do not hold up an update, wherever they are", async () => {
    await cluster.create("low", { spec: enforced });
    await cluster.untilPicture("low", all("low", "web:1 ready"));
    // The smallest one fails: RollingUpdate would wait for it before it touches any other.
    const rule = cluster.simulated.rules.add({
      match: { pod: "low-0", image: "web:1" },
      container: { startError: "no room" },
    });
    const [first] = await cluster.pods("low");
    cluster.simulated.exitContainer(first?.metadata.uid ?? "", "c", 1);
    await cluster.untilPicture("low", ["low-0=web:1 waiting", "low-1=web:1 ready", "low-2=web:1 ready"]);
    await cluster.setImage("low", "web:2");
    await cluster.untilPicture("low", all("low", "web:2 ready"));
    cluster.simulated.rules.remove(rule);
  });

  test("3541-6 place 2: condemned pods go without waiting for unhealthy ones before them", async () => {
    await cluster.create("shrunk", { image: brokenImage, spec: enforced });
    await cluster.untilPicture("shrunk", all("shrunk", `${brokenImage} waiting`));
    const log = await cluster.follow("shrunk");
    await cluster.patch("shrunk", { spec: { replicas: 1 } });
    await cluster.untilPicture("shrunk", [`shrunk-0=${brokenImage} waiting`]);
    await log.stop();
    expect(log.lines).toEqual([`-shrunk-2=${brokenImage}`, `-shrunk-1=${brokenImage}`]);
  });

  test("3541-6 under RollingUpdate they wait", async () => {
    await createBroken("kept", rolling);
    const [first] = await cluster.pods("kept");
    const rule = cluster.simulated.rules.add({
      match: { pod: "kept-0" },
      container: { startError: "no room" },
    });
    cluster.simulated.exitContainer(first?.metadata.uid ?? "", "c", 1);
    await cluster.until(
      "the first one fails",
      async () => (await cluster.picture("kept"))[0] === "kept-0=web:1 waiting",
    );
    await cluster.patch("kept", { spec: { replicas: 1 } });
    await delay(1_000);
    expect(await cluster.picture("kept")).toHaveLength(3);
    cluster.simulated.rules.remove(rule);
    await cluster.until("they go", async () => (await cluster.picture("kept")).length === 1);
  });

  test("3541-7 scaling creates pods from the update revision", async () => {
    await createBroken("grown", enforced);
    await cluster.setImage("grown", "web:2");
    await cluster.patch("grown", { spec: { replicas: 4 } });
    await cluster.untilPicture("grown", [...all("grown", "web:2 ready"), "grown-3=web:2 ready"]);
  });

  test("3541-7 also while the template does not work", async () => {
    await createBroken("late", enforced);
    await cluster.patch("late", { spec: { replicas: 4 } });
    await cluster.untilPicture("late", [
      "late-0=web:1 ready",
      "late-1=web:1 ready",
      `late-2=${brokenImage} waiting`,
      `late-3=${brokenImage} waiting`,
    ]);
  });
});

describe("KEP-3541, what stays and what goes", () => {
  test("3541-8 one pod of an identity at a time, and its claim stays, whatever crashes in between", async () => {
    const volumeClaimTemplates = [
      {
        metadata: { name: "data" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } },
      },
    ];
    await cluster.create("kill", { spec: { ...enforced, volumeClaimTemplates } });
    const claimUids = async () =>
      (await cluster.client.list("persistentvolumeclaims", { namespace: "default" })).items
        .filter(({ metadata }) => metadata.name?.startsWith("data-kill-"))
        .map(({ metadata }) => metadata.uid)
        .sort();
    await cluster.until("the first claim is there", async () => (await claimUids()).length > 0);
    // Long enough to see one that does not wait for the end of the other.
    cluster.simulated.rules.add({ match: { pod: "kill-*" }, container: { stopDelayMs: 500 } });
    const log = await cluster.follow("kill");
    for (let round = 0; round < 12; round++) {
      await cluster.setImage("kill", round % 3 === 1 ? brokenImage : `web:${round}`);
      await delay(Math.random() * 150);
      await cluster.stopControllers();
      await cluster.startControllers();
    }
    await cluster.until("all claims are there", async () => (await claimUids()).length === 3);
    const claims = await claimUids();
    await cluster.setImage("kill", "web:last");
    await cluster.until("every pod runs it", async () => {
      const picture = await cluster.picture("kill");
      return picture.length === 3 && picture.every((line) => line.includes("=web:last"));
    });
    await log.stop();
    expect(log.lines.filter((line) => line.startsWith("two"))).toEqual([]);
    expect(await claimUids()).toEqual(claims);
  });

  test("3541-9 with the gate off such a set is left untouched, and says so; with it on again it goes on", async () => {
    await createBroken("off", enforced);
    await cluster.stopControllers();
    await cluster.startControllers({ features: { EnforcedRollingUpdateInStatefulSet: false } });
    const log = await cluster.follow("off");
    await cluster.setImage("off", "web:2");
    const message =
      "statefulset default/off uses EnforcedRollingUpdate strategy but feature gate EnforcedRollingUpdateInStatefulSet is disabled";
    await cluster.until(
      "the condition says so",
      async () => progressing(await cluster.get("off"))?.message === message,
    );
    expect(progressing(await cluster.get("off"))).toMatchObject({
      status: "False",
      reason: "UnknownStrategy",
    });
    await cluster.until("the event says so", async () =>
      (await cluster.events("off")).some((event) => event.type === "Warning" && event.message === message),
    );
    await delay(1_000);
    expect(log.lines).toEqual([]);
    await cluster.stopControllers();
    await cluster.startControllers();
    await cluster.untilPicture("off", all("off", "web:2 ready"));
    await log.stop();
  });
});

describe("kindling.dev/unstick: permanent-only", () => {
  test("a pod that may heal is waited for, one that cannot is replaced", async () => {
    await cluster.create("patient", { spec: enforced }, { "kindling.dev/unstick": "permanent-only" });
    await cluster.untilPicture("patient", all("patient", "web:1 ready"));
    const fault = cluster.simulated.rules.add({
      match: { pod: "patient-*", image: "web:2" },
      container: { createError: "no room" },
    });
    await cluster.setImage("patient", "web:2");
    const failing = ["patient-0=web:1 ready", "patient-1=web:1 ready", "patient-2=web:2 waiting"];
    await cluster.untilPicture("patient", failing);
    await cluster.until(
      "it crashes",
      async () => progressing(await cluster.get("patient"))?.status === "False",
    );
    await cluster.setImage("patient", brokenImage);
    await delay(1_500);
    expect(await cluster.picture("patient")).toEqual(failing);

    cluster.simulated.rules.remove(fault);
    await cluster.untilPicture(
      "patient",
      ["patient-0=web:1 ready", "patient-1=web:1 ready", `patient-2=${brokenImage} waiting`],
      60_000,
    );
    await cluster.setImage("patient", "web:3");
    await cluster.untilPicture("patient", all("patient", "web:3 ready"));
  });
});
