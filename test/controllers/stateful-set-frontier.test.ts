import { describe, expect, test } from "vitest";
import {
  brokenImage,
  createBroken,
  readyPods,
  useStatefulSetCluster,
} from "../support/cluster/stateful-set-cluster.ts";
import { createKubectl } from "../support/kubectl/kubectl.ts";
import { describeWithTool } from "../support/programs/tools.ts";

const cluster = useStatefulSetCluster();

const enforced = { updateStrategy: { type: "EnforcedRollingUpdate" } };
const recordAnnotation = "kindling.dev/update-progress";

/** A set of three whose update is stuck at the largest ordinal. */
const stuck = (name: string) => [...readyPods(name, 2), `${name}-2=${brokenImage} waiting`];

async function evict(name: string): Promise<void> {
  const path = `/api/v1/namespaces/default/pods/${name}/eviction`;
  const metadata = { name, namespace: "default" };
  await cluster.client.request("POST", path, {
    body: { apiVersion: "policy/v1", kind: "Eviction", metadata },
  });
}

/** Evicts pods of the set at once, and waits until each has come back as another pod. */
async function lose(set: string, ...ordinals: number[]): Promise<void> {
  const names = ordinals.map((ordinal) => `${set}-${ordinal}`);
  const uids = async () =>
    new Map((await cluster.pods(set)).map(({ metadata }) => [metadata.name ?? "", metadata.uid]));
  const before = await uids();
  await Promise.all(names.map(evict));
  await cluster.until(`${names} are replaced`, async () => {
    const now = await uids();
    return names.every((name) => now.has(name) && now.get(name) !== before.get(name));
  });
}

/** Evicts pods while no controller runs, and waits until they are deleted. */
async function loseWithoutController(
  set: string,
  ordinals: readonly number[],
  change?: () => Promise<unknown>,
) {
  await cluster.stopControllers();
  await change?.();
  for (const ordinal of ordinals) await evict(`${set}-${ordinal}`);
  await cluster.until("they are gone", async () => {
    const names = (await cluster.pods(set)).map(({ metadata }) => metadata.name);
    return ordinals.every((ordinal) => !names.includes(`${set}-${ordinal}`));
  });
  await cluster.startControllers();
}

describe("a pod that is lost during a stuck update", () => {
  test.each([
    ["web-0", "first", [0]],
    ["web-1", "second", [1]],
    ["web-1 and web-2 together", "both", [1, 2]],
    ["every pod", "every", [0, 1, 2]],
  ])("3541-10 %s: only the largest ordinal returns in the broken revision", async (_, name, ordinals) => {
    await createBroken(cluster, name, { spec: enforced });
    await lose(name, ...ordinals);
    await cluster.untilPicture(name, stuck(name));
    await loseWithoutController(name, ordinals);
    await cluster.untilPicture(name, stuck(name));
    await cluster.setImage(name, "web:2");
    await cluster.untilPicture(name, readyPods(name, 3, "web:2"));
  });

  test.each([
    ["Parallel", "side", { ...enforced, podManagementPolicy: "Parallel" }],
    [
      "maxUnavailable",
      "knob",
      { updateStrategy: { ...enforced.updateStrategy, rollingUpdate: { maxUnavailable: 1 } } },
    ],
  ])("3541-10 the same with %s", async (_, name, spec) => {
    await createBroken(cluster, name, { spec });
    await lose(name, 0, 1, 2);
    await cluster.untilPicture(name, stuck(name));
  });

  test("3541-10 the set grows meanwhile: ordinals that it did not have get the update revision", async () => {
    await createBroken(cluster, "grown", { spec: enforced });
    await cluster.patch("grown", { spec: { replicas: 5 } });
    const grown = [3, 4].map((ordinal) => `grown-${ordinal}=${brokenImage} waiting`);
    await cluster.untilPicture("grown", [...stuck("grown"), ...grown]);
    await lose("grown", 1, 3);
    await cluster.untilPicture("grown", [...stuck("grown"), ...grown]);
    await loseWithoutController("grown", [0, 4]);
    await cluster.untilPicture("grown", [...stuck("grown"), ...grown]);
  });

  test("3541-10 new template and more replicas in one change: only the new ordinals get the update revision", async () => {
    await cluster.create("helm", { spec: enforced });
    await cluster.untilPicture("helm", readyPods("helm", 3));
    const containers = [{ name: "c", image: brokenImage }];
    await loseWithoutController("helm", [1], () =>
      cluster.patch("helm", { spec: { replicas: 5, template: { spec: { containers } } } }),
    );
    const grown = [3, 4].map((ordinal) => `helm-${ordinal}=${brokenImage} waiting`);
    await cluster.untilPicture("helm", [...readyPods("helm", 3), ...grown]);
  });
});

describe("a pod that is evicted in the middle of an update", () => {
  test("3541-10 returns in the update revision where its ordinal was Ready, in the current one below", async () => {
    const fault = cluster.simulated.rules.add({
      match: { pod: "half-1", image: "web:2" },
      container: { createError: "no room" },
    });
    await cluster.create("half", { replicas: 4, spec: enforced });
    await cluster.untilPicture("half", readyPods("half", 4));
    await cluster.setImage("half", "web:2");
    const updated = ["half-2=web:2 ready", "half-3=web:2 ready"];
    const half = ["half-0=web:1 ready", "half-1=web:2 waiting", ...updated];
    await cluster.untilPicture("half", half);
    await lose("half", 0, 2, 3);
    await cluster.untilPicture("half", half);
    await loseWithoutController("half", [0, 2, 3]);
    await cluster.untilPicture("half", half);
    cluster.simulated.rules.remove(fault);
    await cluster.untilPicture("half", readyPods("half", 4, "web:2"));
  });

  test("3541-10 in a first rollout that never finished: in the update revision", async () => {
    await cluster.create("fresh", { image: brokenImage, spec: enforced });
    const broken = [0, 1, 2].map((ordinal) => `fresh-${ordinal}=${brokenImage} waiting`);
    await cluster.untilPicture("fresh", broken);
    const log = await cluster.followPods("fresh");
    await loseWithoutController("fresh", [0], () => cluster.setImage("fresh", "web:2"));
    await cluster.untilPicture("fresh", readyPods("fresh", 3, "web:2"));
    await log.stop();
    expect(log.lines.filter((line) => line.includes("fresh-0"))).toEqual([
      `-fresh-0=${brokenImage}`,
      "+fresh-0=web:2",
    ]);
  });
});

describe("the record on the set", () => {
  test("3541-10 a set without it, from an earlier version or another strategy, is assumed to have had all ordinals", async () => {
    const rolling = { updateStrategy: { type: "RollingUpdate" } };
    await createBroken(cluster, "legacy", { spec: rolling });
    expect((await cluster.get("legacy")).metadata.annotations ?? {}).not.toHaveProperty(recordAnnotation);
    await loseWithoutController("legacy", [0, 1], () => cluster.patch("legacy", { spec: enforced }));
    await cluster.untilPicture("legacy", stuck("legacy"));
    await cluster.patch("legacy", { metadata: { annotations: { [recordAnnotation]: null } } });
    await lose("legacy", 0, 1);
    await cluster.untilPicture("legacy", stuck("legacy"));
  });

  test("3541-10 is removed when the set changes to another strategy", async () => {
    await createBroken(cluster, "plain", { spec: enforced });
    expect((await cluster.get("plain")).metadata.annotations).toHaveProperty([recordAnnotation]);
    await cluster.patch("plain", { spec: { updateStrategy: { type: "RollingUpdate" } } });
    await cluster.until("it is removed", async () => {
      const { annotations = {} } = (await cluster.get("plain")).metadata;
      return !(recordAnnotation in annotations);
    });
  });
});

describeWithTool("kubectl", "the record on the set", () => {
  test("3541-10 survives kubectl apply", async () => {
    const kubectl = createKubectl(cluster.server.kubeconfig);
    const manifest = (image: string) => {
      const labels = { app: "applied" };
      const pod = { nodeName: cluster.node.name, terminationGracePeriodSeconds: 1 };
      return JSON.stringify({
        apiVersion: "apps/v1",
        kind: "StatefulSet",
        metadata: { name: "applied", namespace: "default" },
        spec: {
          replicas: 3,
          serviceName: "applied",
          selector: { matchLabels: labels },
          ...enforced,
          template: { metadata: { labels }, spec: { ...pod, containers: [{ name: "c", image }] } },
        },
      });
    };
    await kubectl.ok("apply -f -", { input: manifest("web:1") });
    await cluster.untilPicture("applied", readyPods("applied", 3));
    await kubectl.ok("apply -f -", { input: manifest(brokenImage) });
    await cluster.untilPicture("applied", stuck("applied"));
    const recorded = (await cluster.get("applied")).metadata.annotations?.[recordAnnotation];
    expect(JSON.parse(recorded ?? "")).toMatchObject({
      initialOrdinals: { start: 0, replicas: 3 },
      frontier: 3,
    });
    await kubectl.ok("apply -f -", { input: manifest(brokenImage) });
    expect((await cluster.get("applied")).metadata.annotations?.[recordAnnotation]).toBe(recorded);
  });
});
