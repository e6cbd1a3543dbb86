import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import {
  brokenImage,
  createBroken,
  readyPods,
  useStatefulSetCluster,
} from "../support/cluster/stateful-set-cluster.ts";

const cluster = useStatefulSetCluster();

const enforced = { updateStrategy: { type: "EnforcedRollingUpdate" } };
const rolling = { updateStrategy: { type: "RollingUpdate" } };

describe("KEP-3541, scaling down", () => {
  test("3541-6 place 2: deletes condemned pods without waiting for unhealthy predecessors", async () => {
    await cluster.create("shrunk", { image: brokenImage, spec: enforced });
    await cluster.untilPicture(
      "shrunk",
      [0, 1, 2].map((ordinal) => `shrunk-${ordinal}=${brokenImage} waiting`),
    );
    const log = await cluster.followPods("shrunk");
    await cluster.patch("shrunk", { spec: { replicas: 1 } });
    await cluster.untilPicture("shrunk", [`shrunk-0=${brokenImage} waiting`]);
    await log.stop();
    expect(log.lines).toEqual([`-shrunk-2=${brokenImage}`, `-shrunk-1=${brokenImage}`]);
  });

  test("3541-6 condemned pods are deleted without waiting for a pod that is starting", async () => {
    await cluster.create("shrinking", { spec: enforced });
    await cluster.untilPicture("shrinking", readyPods("shrinking", 3));
    const rule = cluster.simulated.rules.add({
      match: { pod: "shrinking-0" },
      sandbox: { delayMs: 100_000 },
    });
    await cluster.client.delete("pods", { namespace: "default", name: "shrinking-0" });
    const [, ...others] = readyPods("shrinking", 3);
    await cluster.untilPicture("shrinking", ["shrinking-0=web:1 waiting", ...others]);
    const log = await cluster.followPods("shrinking");
    await cluster.patch("shrinking", { spec: { replicas: 1 } });
    await cluster.untilPicture("shrinking", ["shrinking-0=web:1 waiting"]);
    await log.stop();
    expect(log.lines).toEqual(["-shrinking-2=web:1", "-shrinking-1=web:1"]);
    cluster.simulated.rules.remove(rule);
  });

  test("3541-6 under RollingUpdate they wait", async () => {
    await createBroken(cluster, "kept", { spec: rolling });
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
});

describe("KEP-3541, scaling up", () => {
  test("3541-7 scaling creates pods from the update revision", async () => {
    await createBroken(cluster, "grown", { spec: enforced });
    await cluster.setImage("grown", "web:2");
    await cluster.patch("grown", { spec: { replicas: 4 } });
    await cluster.untilPicture("grown", readyPods("grown", 4, "web:2"));
  });

  test("3541-7 also while the template does not work", async () => {
    await createBroken(cluster, "late", { spec: enforced });
    await cluster.patch("late", { spec: { replicas: 4 } });
    await cluster.untilPicture("late", [
      "late-0=web:1 ready",
      "late-1=web:1 ready",
      `late-2=${brokenImage} waiting`,
      `late-3=${brokenImage} waiting`,
    ]);
  });

  test("3541-7 missing pods below ordinals of an older revision are created in the update revision", async () => {
    await cluster.create("before", { replicas: 2, spec: { ...enforced, ordinals: { start: 1 } } });
    await cluster.untilPicture("before", ["before-1=web:1 ready", "before-2=web:1 ready"]);
    await cluster.setImage("before", brokenImage);
    await cluster.untilPicture("before", ["before-1=web:1 ready", `before-2=${brokenImage} waiting`]);
    await cluster.patch("before", { spec: { replicas: 3, ordinals: { start: 0 } } });
    await cluster.untilPicture("before", [
      `before-0=${brokenImage} waiting`,
      "before-1=web:1 ready",
      `before-2=${brokenImage} waiting`,
    ]);
  });

  test("3541-7 with a partition: above it from the update revision, below it from the one before", async () => {
    const updateStrategy = { ...enforced.updateStrategy, rollingUpdate: { partition: 2 } };
    await cluster.create("parted", { spec: { updateStrategy } });
    await cluster.untilPicture("parted", readyPods("parted", 3));
    await cluster.setImage("parted", "web:2");
    const rolled = [...readyPods("parted", 2), "parted-2=web:2 ready"];
    await cluster.untilPicture("parted", rolled);
    await cluster.patch("parted", { spec: { replicas: 4 } });
    await cluster.untilPicture("parted", [...rolled, "parted-3=web:2 ready"]);
    const log = await cluster.followPods("parted");
    await cluster.client.delete("pods", { namespace: "default", name: "parted-0" });
    await cluster.until("it comes back", async () => log.lines.length > 1);
    await log.stop();
    expect(log.lines).toEqual(["-parted-0=web:1", "+parted-0=web:1"]);
  });
});
