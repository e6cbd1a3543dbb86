import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { StatefulSet } from "../../src/api/meta/objects.ts";
import {
  brokenImage,
  createBroken,
  readyPods,
  useStatefulSetCluster,
} from "../support/cluster/stateful-set-cluster.ts";
import { rounds } from "../support/fuzz/rounds.ts";

const cluster = useStatefulSetCluster();

const enforced = { updateStrategy: { type: "EnforcedRollingUpdate" } };
const rolling = { updateStrategy: { type: "RollingUpdate" } };
const parallel = { podManagementPolicy: "Parallel" };

const progressing = ({ status }: StatefulSet) =>
  status?.conditions?.find(({ type }) => type === "Progressing");

function all(name: string, state: string): string[] {
  return [0, 1, 2].map((ordinal) => `${name}-${ordinal}=${state}`);
}

describe("KEP-3541 EnforcedRollingUpdate, the four scenarios", () => {
  test.each([
    ["for good", "stuck", brokenImage, "InvalidImageName"],
    ["and is transient", "tired", "web:bad", "CreateContainerError"],
  ])(
    "3541-2 RollingUpdate: a pod that fails %s is not recovered by a fixed template, and the set says which pod and what to do",
    async (_, name, image, reason) => {
      const fault = { match: { image: "web:bad" }, container: { createError: "no room" } };
      const rule = cluster.simulated.rules.add(fault);
      await createBroken(cluster, name, { spec: rolling, image });
      const broken = await cluster.picture(name);
      await cluster.setImage(name, "web:2");
      let condition: ReturnType<typeof progressing>;
      await cluster.until("the condition names the strategy", async () => {
        condition = progressing(await cluster.get(name));
        return condition?.message?.includes("RollingUpdate does not replace it") ?? false;
      });
      expect(condition).toMatchObject({
        status: "False",
        reason,
        message: expect.stringMatching(
          new RegExp(`^pod ${name}-2 blocks the rollout: .*delete the pod, or use EnforcedRollingUpdate$`),
        ),
      });
      // Neither with room for one more that is unavailable, nor with more pods to make.
      const rollingUpdate = { maxUnavailable: 2 };
      const { metadata } = await cluster.patch(name, {
        spec: { replicas: 4, updateStrategy: { rollingUpdate } },
      });
      await cluster.until(
        "the controller has seen it",
        async () => (await cluster.get(name)).status?.observedGeneration === metadata.generation,
      );
      await delay(1_500);
      expect(await cluster.picture(name)).toEqual(broken);

      // The way out that upstream documents.
      await cluster.client.delete("pods", { namespace: "default", name: `${name}-2` });
      await cluster.untilPicture(name, readyPods(name, 4, "web:2"));
      cluster.simulated.rules.remove(rule);
    },
  );

  test("3541-3 EnforcedRollingUpdate: a fixed template recovers, pods replaced in order from the largest ordinal", async () => {
    await createBroken(cluster, "freed", { spec: enforced });
    const log = await cluster.followPods("freed");
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
    const log = await cluster.followPods("hopeless");
    await cluster.setImage("hopeless", "web:2");
    await cluster.untilPicture("hopeless", all("hopeless", "web:2 ready"));
    await log.stop();
    expect(log.lines.filter((line) => line.startsWith("-"))).toEqual(
      [2, 1, 0].map((ordinal) => `-hopeless-${ordinal}=${brokenImage}`),
    );
  });

  test("3541-4 another broken template: the largest ordinal is replaced, and no smaller one is touched", async () => {
    await createBroken(cluster, "worse", { spec: enforced });
    const log = await cluster.followPods("worse");
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
      message: expect.stringContaining("pod worse-2 blocks the rollout"),
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

describe("KEP-3541, its first place", () => {
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
});

describe("KEP-3541, identities and claims of replaced pods", () => {
  test("3541-8 at most one pod of an identity exists at a time and its claim is kept, also when controllers crash in between", async () => {
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
    const log = await cluster.followPods("kill");
    const restarts = 2 + rounds(2);
    for (let round = 0; round < restarts; round++) {
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

  test("3541-9 with the gate off the set is not changed and an event says so; with the gate on the rollout continues", async () => {
    await createBroken(cluster, "off", { spec: enforced });
    await cluster.stopControllers();
    await cluster.startControllers({ features: { EnforcedRollingUpdateInStatefulSet: false } });
    const log = await cluster.followPods("off");
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
    // Nor is one created that is missing, or that there should be more of.
    await cluster.patch("off", { spec: { replicas: 4 } });
    await cluster.client.delete("pods", { namespace: "default", name: "off-0" });
    await cluster.until("it is gone", async () => log.lines.length > 0);
    await delay(1_000);
    expect(log.lines).toEqual(["-off-0=web:1"]);
    // The status stays current.
    const { metadata, status } = await cluster.get("off");
    expect(status).toMatchObject({ observedGeneration: metadata.generation, replicas: 2, readyReplicas: 1 });
    expect(status?.updatedReplicas).toBeUndefined();
    const revisions = await cluster.client.list("controllerrevisions", {
      namespace: "default",
      labelSelector: "app=off",
    });
    const newest = revisions.items.toSorted((a, b) => Number(b.revision) - Number(a.revision))[0];
    expect(status?.updateRevision).toBe(newest?.metadata.name);
    expect(status?.conditions).toMatchObject([
      { type: "Progressing", status: "False", reason: "UnknownStrategy" },
      { type: "RolloutComplete", status: "False", reason: "UnknownStrategy" },
    ]);
    await cluster.stopControllers();
    await cluster.startControllers();
    await cluster.untilPicture("off", readyPods("off", 4, "web:2"));
    await log.stop();
  });
});

describe("kindling.dev/unstick: permanent-only", () => {
  test("a transiently failing pod is waited for, a permanently failing one is replaced", async () => {
    const annotations = { "kindling.dev/unstick": "permanent-only" };
    await cluster.create("patient", { spec: enforced, annotations });
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

describe("kindling.dev/unstick: never", () => {
  test("a broken pod of an older revision is not replaced until the annotation allows it, and an event reports an unknown value", async () => {
    await cluster.create("kept", { spec: enforced, annotations: { "kindling.dev/unstick": "nevr" } });
    await cluster.untilPicture("kept", all("kept", "web:1 ready"));
    await cluster.setImage("kept", brokenImage);
    const broken = ["kept-0=web:1 ready", "kept-1=web:1 ready", `kept-2=${brokenImage} waiting`];
    await cluster.untilPicture("kept", broken);
    await cluster.setImage("kept", "web:2");
    const message = async () => progressing(await cluster.get("kept"))?.message ?? "";
    const held = "annotation kindling.dev/unstick does not allow replacing it";
    await cluster.until("the condition names the annotation", async () => (await message()).includes(held));
    const invalid = async () =>
      (await cluster.events("kept")).filter(({ reason }) => reason === "InvalidUnstickPolicy");
    await cluster.until("an event reports the value", async () => (await invalid()).length > 0);
    expect(await invalid()).toMatchObject([
      { type: "Warning", count: 1, message: expect.stringContaining('unknown value "nevr"') },
    ]);
    await cluster.patch("kept", { metadata: { annotations: { "kindling.dev/unstick": "never" } } });
    await delay(1_500);
    expect(await cluster.picture("kept")).toEqual(broken);
    expect(await message()).toContain(held);
    await cluster.patch("kept", { metadata: { annotations: { "kindling.dev/unstick": "always" } } });
    await cluster.untilPicture("kept", all("kept", "web:2 ready"));
  });
});
