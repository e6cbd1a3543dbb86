import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { conditionOf } from "../../src/api/meta/object-facts.ts";
import type { Pod, PodCondition } from "../../src/api/meta/objects.ts";
import type { Client } from "../../src/client/api/client.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { runConditionsController } from "../../src/conditions/conditions-controller.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createMetrics } from "../../src/lib/metrics/metrics.ts";
import { writeExampleKubeconfig } from "../support/cluster/example-access.ts";
import { useCluster } from "../support/cluster/use-cluster.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { makePod } from "../support/manifests/pod.ts";
import {
  createConfigMap,
  failingToStart,
  fromConfigMap,
  isFailing,
} from "../support/node/failing-to-start.ts";
import { isReady } from "../support/node/simulated-node.ts";
import { type KindlingRun, runKindling } from "../support/programs/run-kindling.ts";

const gateOff = { PodFailingToStartCondition: false };
const cluster = useCluster({ kubelet: { features: gateOff }, controllers: false, scheduler: false });
const folder = temporaryFolder();
const namespace = "default";
const image = "web:1";
const manifest = "examples/conditions/rbac.yaml";
/** Kubeconfig of the service account in the example. */
let kubeconfig: string;

beforeAll(async () => {
  const access = { admin: cluster.client, kubeconfig: cluster.server.kubeconfig, manifest };
  kubeconfig = await writeExampleKubeconfig({ ...access, path: join(folder, "kubeconfig") });
});

const conditionIn = (pod: Pod | undefined) => pod && conditionOf(pod, failingToStart);
const condition = async (name: string) => conditionIn(await cluster.node.get(name));
const waitsForMap = (map: string) => ({ containers: [{ name: "c", image, env: fromConfigMap(map, "key") }] });
const isFixed = (pod: Pod) => conditionIn(pod)?.status === "False";

test("3815-10 the example grants exactly the rights that the controller needs", async () => {
  const objects = parseAllDocuments(await readFile(manifest, "utf8")).map((document) => document.toJS());
  const rules = objects.flatMap((object) => object.rules ?? []);
  expect(rules.map(({ resources, verbs }) => [resources, verbs])).toEqual([
    [["pods"], ["get", "list", "watch"]],
    [["pods/status"], ["patch"]],
    [["leases"], ["get", "update"]],
    [["leases"], ["create"]],
  ]);
});

describe("3815-10 with only the rights of its example, the controller", () => {
  const stop = new AbortController();
  const metrics = createMetrics();
  const patchTimes: number[] = [];
  let client: Client;
  let running: Promise<void>;
  beforeAll(async () => {
    client = await connectCluster({ kubeconfig });
    const counted: Client = {
      ...client,
      patch: (...request) => {
        patchTimes.push(Date.now());
        return client.patch(...request);
      },
    };
    running = runConditionsController(
      { client: counted, clock: systemClock, logger: silentLogger, metrics },
      stop.signal,
    );
  });
  afterAll(async () => {
    stop.abort();
    await running;
    client.close();
  });
  const written = () => Number(/outcome="written"\} (\d+)/.exec(metrics.text())?.[1] ?? 0);

  test("writes True for a kubelet without the gate, and False once the pod starts", async () => {
    const { node } = cluster;
    await node.run("fixed", waitsForMap("late"));
    const failing = await node.until("fixed", isFailing);
    expect(conditionIn(failing)).toMatchObject({
      reason: "CreateContainerConfigError",
      message: 'configmap "late" not found',
    });
    await createConfigMap(node, "late", { key: "x" });
    const fixed = await node.until("fixed", (pod) => isFixed(pod) && isReady(pod));
    expect(fixed.metadata.uid).toBe(failing.metadata.uid);
    expect(conditionIn(fixed)).not.toHaveProperty("reason");
    expect(conditionIn(fixed)).not.toHaveProperty("message");
    expect(written()).toBe(2);
  });

  test("names each of several containers, and leaves pods alone that never failed", async () => {
    const { node } = cluster;
    await node.run("fine", { containers: [{ name: "c", image }] });
    await node.run("several", {
      containers: [
        { name: "a", image: "Broken:1" },
        { name: "b", image, env: fromConfigMap("none", "key") },
      ],
    });
    const pod = await node.until("several", (pod) => conditionIn(pod)?.message?.includes("; ") ?? false);
    expect(conditionIn(pod)?.message).toMatch(/^container a: InvalidImageName.*; container b: CreateC/);
    expect(conditionIn(await node.until("fine", isReady))).toBeUndefined();
  });

  test("leaves the pods to their kubelet once its gate is on", async () => {
    const { node } = cluster;
    await node.run("taken-over", waitsForMap("later"));
    const before = conditionIn(await node.until("taken-over", isFailing));
    expect(before?.lastProbeTime).toBeTruthy();
    await node.stop();
    await node.start({ features: { PodFailingToStartCondition: true } });
    const after = await node.until("taken-over", (pod) => !conditionIn(pod)?.lastProbeTime);
    expect(conditionIn(after)).toMatchObject({ status: "True", reason: before?.reason });

    const writes = written();
    const history = await node.follow("taken-over");
    await createConfigMap(node, "later", { key: "x" });
    await node.run("kubelets-own", waitsForMap("none"));
    await node.until("taken-over", (pod) => isFixed(pod) && isReady(pod));
    await node.until("kubelets-own", isFailing);
    await delay(500);
    await history.stop();
    expect(written()).toBe(writes);
    expect(history.versions.every((pod) => !conditionIn(pod)?.lastProbeTime)).toBe(true);
    expect(conditionIn(await node.get("kubelets-own"))?.lastProbeTime).toBeFalsy();
    await node.stop();
    await node.start({ features: gateOff });
  });

  describe("beside another kubelet", () => {
    const statusOf = (reason: string) => ({
      containerStatuses: [
        {
          ...{ name: "c", image, imageID: "", ready: false, restartCount: 0 },
          state: { waiting: { reason, message: "m" } },
        },
      ],
    });
    async function report(name: string, status: object, conditions: readonly object[] = []): Promise<void> {
      const body = { status: { ...status, conditions } };
      await cluster.client.patch(
        "pods",
        { namespace, name },
        { subresource: "status", patch: { kind: "strategic", body } },
      );
    }
    afterAll(async () => {
      const { items } = await cluster.client.list("pods", {
        namespace,
        fieldSelector: "spec.nodeName=other",
      });
      for (const { metadata } of items)
        await cluster.client.delete(
          "pods",
          { namespace, name: metadata.name ?? "" },
          { gracePeriodSeconds: 0 },
        );
    });
    const createPod = (name: string) =>
      cluster.client.create("pods", makePod(name, { nodeName: "other", containers: [{ name: "c", image }] }));

    test("that writes the condition with its own reasons, nothing is written", async () => {
      await createPod("other-reasons");
      const writes = written();
      const own = { type: failingToStart, status: "False", lastTransitionTime: "2026-01-01T00:00:00Z" };
      for (const reason of ["InvalidImageName", "ErrImageNeverPull"]) {
        await report("other-reasons", statusOf(reason), [own]);
        await delay(300);
      }
      expect(written()).toBe(writes);
      expect(await condition("other-reasons")).toMatchObject(own);
    });

    test.each<[string, string, Partial<PodCondition> | { $patch: "delete" }]>([
      [
        "replaces the condition",
        "replaces",
        { status: "False", reason: null as never, lastProbeTime: null as never },
      ],
      ["changes the condition and keeps its times", "keeps-times", { status: "False" }],
      ["removes the condition", "removes", { $patch: "delete" }],
    ])("that %s, nothing is written a second time", async (_, name, change) => {
      await createPod(name);
      await report(name, statusOf("InvalidImageName"));
      await cluster.node.until(name, isFailing);
      const writes = written();
      await report(name, {}, [{ type: failingToStart, ...change }]);
      const theirs = await condition(name);
      for (const reason of ["ErrImageNeverPull", "InvalidImageName", "ContainerCreating"]) {
        await report(name, statusOf(reason));
        await delay(200);
      }
      expect(written()).toBe(writes);
      expect(await condition(name)).toEqual(theirs);
    });

    test("that reports 150 pods as failing at once, at most 50 PATCHes a second are sent", async () => {
      const names = Array.from({ length: 150 }, (_, i) => `many-${i}`);
      patchTimes.length = 0;
      for (const name of names) {
        await createPod(name);
        await report(name, statusOf("InvalidImageName"));
      }
      const failing = async () => (await cluster.client.list("pods", { namespace })).items.filter(isFailing);
      const many = async () => (await failing()).filter(({ metadata }) => metadata.name?.startsWith("many-"));
      await expect.poll(async () => (await many()).length, { timeout: 60_000 }).toBe(names.length);
      expect(patchTimes).toHaveLength(names.length);
      patchTimes.forEach((at, i) => {
        expect((patchTimes[i + 50] ?? Number.POSITIVE_INFINITY) - at).toBeGreaterThanOrEqual(1_000);
      });
    });
  });
});

describe("3815-10 kindling conditions", () => {
  const start = async (...args: readonly string[]): Promise<KindlingRun> => {
    const run = await runKindling(["conditions", "--kubeconfig", kubeconfig, ...args]);
    return run;
  };

  test("continues after kill -9, elects one leader and serves metrics", async () => {
    const { node } = cluster;
    const first = await start();
    await expect.poll(() => first.output.stdout).toContain("conditions is running");
    await node.run("killed", waitsForMap("after-kill"));
    await node.until("killed", isFailing);
    first.child.kill("SIGKILL");
    await first.exit;

    const second = await start("--metrics-listen", "127.0.0.1:0");
    const third = await start();
    await createConfigMap(node, "after-kill", { key: "x" });
    // The lease of the killed process has to expire first.
    await node.until("killed", isFixed, 60_000);
    const leaders = [second, third].filter(({ output }) => output.stdout.includes("is running"));
    expect(leaders).toHaveLength(1);
    const url = /metrics: (\S+)/.exec(second.output.stdout)?.[1] ?? "";
    const text = await (await fetch(url)).text();
    expect(text).toContain('leader_election_master_status{name="kindling-conditions"}');
    for (const { child } of [second, third]) child.kill("SIGTERM");
    expect(await Promise.all([second.exit, third.exit])).toEqual([0, 0]);
  });
});
