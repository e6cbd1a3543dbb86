import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Pod } from "../../src/api/objects.ts";
import type { SimulationRule } from "../../src/simulated/script/rules.ts";
import type { SimulatedRuntime } from "../../src/simulated/start-simulated-runtime.ts";
import { conditionOf, type KubeletNode, startKubeletNode } from "../support/kubelet-node.ts";
import { startSimulatedOnSocket } from "../support/simulated-on-socket.ts";

const condition = "PodReadyToStartContainers";
const containers = [{ name: "c", image: "web:1" }];
const isReady = (pod: Pod) => conditionOf(pod, "Ready")?.status === "True";
const isSandboxReady = (pod: Pod) => conditionOf(pod, condition)?.status === "True";

let simulated: SimulatedRuntime;
let node: KubeletNode;
/** By pod: what each attempt at its volumes waits for, or fails with. */
const volumes = new Map<string, () => Promise<void>>();

beforeAll(async () => {
  simulated = await startSimulatedOnSocket({ imagesPresent: true });
  node = await startKubeletNode({
    cri: simulated.client,
    beforeVolume: async ({ metadata }) => volumes.get(metadata.name ?? "")?.(),
  });
});
afterAll(async () => {
  await node?.close();
  await simulated?.close();
});

/** Rules that go with the test. */
const added: SimulationRule[] = [];
function given(rule: SimulationRule): SimulationRule {
  added.push(rule);
  return simulated.rules.add(rule);
}
afterEach(() => {
  for (const rule of added.splice(0)) simulated.rules.remove(rule);
});

const seconds = (time: string | undefined) => Date.parse(time ?? "") / 1_000;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("KEP-3085 PodReadyToStartContainers", () => {
  test("3085-1 False as soon as the kubelet starts on a pod, True with the sandbox, and times that move with the status", async () => {
    given({ match: { pod: "one" }, sandbox: { delayMs: 1_500 } });
    await node.run("one", { containers });
    const before = conditionOf(
      await node.until("one", (pod) => conditionOf(pod, condition) !== undefined),
      condition,
    );
    expect(before?.status).toBe("False");
    expect(before?.lastProbeTime ?? null).toBeNull();
    expect(before?.reason).toBeTruthy();
    const pod = await node.until("one", isReady);
    const after = conditionOf(pod, condition);
    expect(after).toMatchObject({ status: "True" });
    expect(after?.reason).toBeUndefined();
    expect(seconds(after?.lastTransitionTime)).toBeGreaterThan(seconds(before?.lastTransitionTime));
    expect(pod.status?.podIP).toMatch(/^10\./);
    // Later writes of the status leave the time alone; times have whole seconds, so they come in a later one.
    await expect.poll(() => Date.now() / 1_000).toBeGreaterThan(seconds(after?.lastTransitionTime) + 1);
    simulated.exitContainer(pod.metadata.uid ?? "", "c", 1);
    const restarted = await node.until(
      "one",
      (it) => it.status?.containerStatuses?.[0]?.restartCount === 1 && isReady(it),
    );
    expect(conditionOf(restarted, condition)?.lastTransitionTime).toBe(after?.lastTransitionTime);
  });

  test("3085-1 on the host's network no address is waited for", async () => {
    await node.run("host", { containers, hostNetwork: true });
    const pod = await node.until("host", isReady);
    expect(conditionOf(pod, condition)?.status).toBe("True");
    expect(pod.status?.podIP).toBe(pod.status?.hostIP);
  });

  test("3085-2 a healthy pod: True minus PodScheduled is the sandbox's latency, to the second", async () => {
    given({ match: { pod: "two" }, sandbox: { delayMs: 2_000 } });
    await node.run("two", { containers });
    const pod = await node.until("two", isReady);
    const scheduled = seconds(conditionOf(pod, "PodScheduled")?.lastTransitionTime);
    const latency = seconds(conditionOf(pod, condition)?.lastTransitionTime) - scheduled;
    // By the runtime's own times: after the sandbox stood, and before anything was made in it.
    const [sandbox] = simulated.state.byPod.get(pod.metadata.uid ?? "") ?? [];
    const standsAt = (sandbox?.createdAt ?? Number.NaN) + 2_000;
    const usedAt = sandbox?.containers[0]?.createdAt ?? Number.NaN;
    // Timers may be a little early.
    expect(latency).toBeGreaterThanOrEqual(Math.floor((standsAt - 50) / 1_000) - scheduled);
    expect(latency).toBeLessThanOrEqual(Math.floor(usedAt / 1_000) - scheduled);
  });

  test.each([
    {
      culprit: "network",
      sandbox: { networkError: "no addresses left", errorTimes: 2 },
      event: /Failed to create pod sandbox: .*failed to setup network for sandbox .*no addresses left/,
    },
    {
      culprit: "handler",
      sandbox: { error: "the handler is not up yet", errorTimes: 2 },
      event: /Failed to create pod sandbox: .*the handler is not up yet/,
    },
  ])(
    "3085-3 a slow $culprit keeps it False, with retries and events, then True",
    async ({ culprit, sandbox, event }) => {
      given({ match: { pod: `slow-${culprit}` }, sandbox });
      await node.run(`slow-${culprit}`, { containers });
      const stuck = await node.until(
        `slow-${culprit}`,
        (pod) => conditionOf(pod, condition)?.reason === "FailedCreatePodSandBox",
      );
      expect(conditionOf(stuck, condition)).toMatchObject({
        status: "False",
        message: expect.stringMatching(event),
      });
      const pod = await node.until(`slow-${culprit}`, isReady);
      expect(isSandboxReady(pod)).toBe(true);
      expect((await node.untilEvent(`slow-${culprit}`, event)).reason).toBe("FailedCreatePodSandBox");
    },
  );

  test("3085-3 a slow volume keeps it False as long as it lasts, over failures, with events that name it", async () => {
    let tries = 0;
    let attach = () => {};
    const attached = new Promise<void>((resolve) => {
      attach = resolve;
    });
    volumes.set("slow-volume", async () => {
      if (++tries <= 2) throw new Error("the disk is still attached to another node");
      await attached;
    });
    await node.run("slow-volume", {
      containers: [{ name: "c", image: "web:1", volumeMounts: [{ name: "disk", mountPath: "/disk" }] }],
      volumes: [{ name: "disk", emptyDir: {} }],
    });
    const message = 'MountVolume.SetUp failed for volume "disk" : the disk is still attached to another node';
    const stuck = await node.until(
      "slow-volume",
      (pod) => conditionOf(pod, condition)?.reason === "FailedMount",
    );
    expect(conditionOf(stuck, condition)).toMatchObject({ status: "False", message });
    expect(await node.untilEvent("slow-volume", /attached to another node/)).toMatchObject({
      type: "Warning",
      reason: "FailedMount",
      message,
    });
    // The third try does not fail; it takes its time.
    await expect.poll(() => tries, { timeout: 10_000 }).toBe(3);
    const waiting = (await node.get("slow-volume")) as Pod;
    expect(conditionOf(waiting, condition)).toMatchObject({
      status: "False",
      lastTransitionTime: conditionOf(stuck, condition)?.lastTransitionTime,
    });
    expect(simulated.state.byPod.has(waiting.metadata.uid ?? "")).toBe(false);
    attach();
    expect(isSandboxReady(await node.until("slow-volume", isReady))).toBe(true);
  });

  test("3085-11 a missing secret volume (3085-3: the slow volume) keeps it False; created, the pod starts by itself", async () => {
    await node.run("late-volume", {
      containers: [{ name: "c", image: "web:1", volumeMounts: [{ name: "v", mountPath: "/v" }] }],
      volumes: [{ name: "v", secret: { secretName: "late" } }],
    });
    const stuck = await node.until(
      "late-volume",
      (pod) => conditionOf(pod, condition)?.reason === "FailedMount",
    );
    expect(conditionOf(stuck, condition)?.status).toBe("False");
    expect(
      (
        await node.untilEvent(
          "late-volume",
          /MountVolume\.SetUp failed for volume "v" : secret "late" not found/,
        )
      ).reason,
    ).toBe("FailedMount");
    await node.client.create("secrets", {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "late", namespace: "default" },
      data: {},
    });
    expect(isSandboxReady(await node.until("late-volume", isReady))).toBe(true);
  });

  test("3085-4 never: False with an unmoved time over retries, until the pod is deleted", async () => {
    given({ match: { pod: "never" }, sandbox: { networkError: "no plugin" } });
    await node.run("never", { containers });
    const first = conditionOf(
      await node.until("never", (pod) => conditionOf(pod, condition)?.reason === "FailedCreatePodSandBox"),
      condition,
    );
    const tries = async () =>
      (await node.events("never"))
        .filter(({ reason }) => reason === "FailedCreatePodSandBox")
        .reduce((sum, { count = 1 }) => sum + count, 0);
    await expect.poll(tries).toBeGreaterThan(2);
    const later = conditionOf((await node.get("never")) as Pod, condition);
    expect(later).toMatchObject({ status: "False", lastTransitionTime: first?.lastTransitionTime });
    expect(later?.message).toContain("no plugin");
    await node.client.delete("pods", { namespace: "default", name: "never" });
    await node.untilGone("never");
  });

  test("3085-5 sandbox lost: False at once, then True with new times; address and restart count are right", async () => {
    await node.run("lost", { containers });
    const before = await node.until("lost", isReady);
    given({ match: { pod: "lost" }, sandbox: { delayMs: 3_000 } });
    simulated.killSandbox(before.metadata.uid ?? "");
    // The runtime's event says so: the next relist is half a minute away.
    await node.until("lost", (pod) => conditionOf(pod, condition)?.status === "False");
    const after = await node.until("lost", isReady);
    expect(seconds(conditionOf(after, condition)?.lastTransitionTime)).toBeGreaterThan(
      seconds(conditionOf(before, condition)?.lastTransitionTime),
    );
    expect(after.status?.containerStatuses?.[0]).toMatchObject({ restartCount: 1, ready: true });
    expect(after.status?.podIP).toMatch(/^10\./);
  });

  test("3085-5 the whole node rebooted: False, then every sandbox is made again, with new times", async () => {
    await node.run("rebooted", { containers });
    const before = await node.until("rebooted", isReady);
    given({ match: { pod: "rebooted" }, sandbox: { delayMs: 3_000 } });
    await node.stop();
    simulated.reboot();
    await node.start();
    await node.until("rebooted", (pod) => conditionOf(pod, condition)?.status === "False");
    const after = await node.until(
      "rebooted",
      (pod) => isReady(pod) && pod.status?.containerStatuses?.[0]?.restartCount === 1,
    );
    expect(seconds(conditionOf(after, condition)?.lastTransitionTime)).toBeGreaterThan(
      seconds(conditionOf(before, condition)?.lastTransitionTime),
    );
    expect(after.status?.phase).toBe("Running");
  });

  test("3085-6 after the pod has been stopped and before it goes, False is in the API", async () => {
    await node.run("graceful", { containers });
    const pod = await node.until("graceful", isReady);
    const seen: string[] = [];
    const watching = (async () => {
      const options = { namespace: "default", resourceVersion: pod.metadata.resourceVersion ?? "" };
      for await (const event of node.client.watch("pods", {
        ...options,
        fieldSelector: "metadata.name=graceful",
      })) {
        if (event.type === "BOOKMARK") continue;
        seen.push(
          `${event.type} ${conditionOf(event.object, condition)?.status} ${event.object.status?.containerStatuses?.[0]?.state?.terminated?.exitCode}`,
        );
        if (event.type === "DELETED") return;
      }
    })();
    await node.client.delete("pods", { namespace: "default", name: "graceful" });
    await watching;
    expect(seen).toContain("MODIFIED False 143");
    expect(seen.at(-1)).toMatch(/^DELETED False/);
  });

  test("3085-6 as the node shuts down, too: the pod has failed and its sandbox is gone", async () => {
    const machine = await startSimulatedOnSocket({ imagesPresent: true });
    const leaving = await startKubeletNode({
      cri: machine.client,
      config: { shutdownGracePeriod: "4s", shutdownGracePeriodCriticalPods: "2s" },
    });
    try {
      await leaving.run("shut-down", { containers });
      await leaving.until("shut-down", isReady);
      await leaving.shutDown();
      const pod = (await leaving.get("shut-down")) as Pod;
      expect(conditionOf(pod, condition)?.status).toBe("False");
      expect(pod.status).toMatchObject({
        phase: "Failed",
        reason: "Terminated",
        message: "Pod was terminated in response to imminent node shutdown.",
      });
      await leaving.run("too-late", { containers });
      const rejected = await leaving.until("too-late", ({ status }) => status?.phase === "Failed");
      expect(rejected.status?.reason).toBe("NodeShutdown");
      expect((await leaving.untilEvent("too-late", /node is shutting down/)).reason).toBe("NodeShutdown");
    } finally {
      await leaving.close();
      await machine.close();
    }
  });

  test("3085-7 gate off: neither written nor removed; on again, new pods have it", async () => {
    await node.run("gated-before", { containers });
    await node.until("gated-before", isReady);
    await node.stop();
    await node.start({ features: { PodReadyToStartContainersCondition: false } });
    await node.run("gated", { containers });
    expect(conditionOf(await node.until("gated", isReady), condition)).toBeUndefined();
    const kept = await node.until("gated-before", isReady);
    expect(conditionOf(kept, condition)?.status).toBe("True");
    simulated.killSandbox(kept.metadata.uid ?? "");
    const again = await node.until(
      "gated-before",
      (pod) => pod.status?.containerStatuses?.[0]?.restartCount === 1 && isReady(pod),
    );
    expect(conditionOf(again, condition)).toEqual(conditionOf(kept, condition));
    await node.stop();
    await node.start();
    await node.run("gated-after", { containers });
    expect(conditionOf(await node.until("gated-after", isReady), condition)?.status).toBe("True");
  });

  test("3085-9 one PATCH for all that changed, none when nothing did, and a flapping sandbox does not flood", async () => {
    // Pods of the tests before may still be on their way: their writes would be counted too.
    await node.client.deleteCollection("pods", { namespace: "default" });
    const left = async () => (await node.client.list("pods", {})).items.length;
    await expect.poll(left).toBe(0);
    const none = await patches();
    await node.run("counted", { containers });
    const pod = await node.until("counted", isReady);
    await pause(500);
    const settled = await patches();
    // Seen, sandbox, container: each changes several fields of the status at once.
    expect(settled - none).toBeLessThanOrEqual(4);
    await pause(1_500);
    expect(await patches()).toBe(settled);
    const uid = pod.metadata.uid ?? "";
    for (let flaps = 0; flaps < 5; flaps++) {
      await node.until("counted", isSandboxReady);
      simulated.killSandbox(uid);
      // A sandbox is made again at most once a second.
      await pause(1_200);
    }
    await node.until("counted", isSandboxReady);
    // Each flap is two changes of the sandbox, and one or two of the container.
    expect((await patches()) - settled).toBeLessThanOrEqual(25);
  });

  test("3085-10 Initialized is True early, also for a pod whose volumes never mount", async () => {
    await node.run("uninitialized", {
      containers: [{ name: "c", image: "web:1", volumeMounts: [{ name: "v", mountPath: "/v" }] }],
      volumes: [{ name: "v", configMap: { name: "never-made" } }],
    });
    const pod = await node.until(
      "uninitialized",
      (it) => conditionOf(it, condition)?.reason === "FailedMount",
    );
    expect(conditionOf(pod, "Initialized")?.status).toBe("True");
    await node.untilEvent(
      "uninitialized",
      /MountVolume\.SetUp failed for volume "v" : configmap "never-made" not found/,
    );
  });
});

async function patches(): Promise<number> {
  const { text } = await node.server.call("GET", "/metrics");
  const lines = text.split("\n").filter((line) => /^apiserver_request_total\{.*verb="PATCH"/.test(line));
  return lines
    .filter((line) => line.includes('resource="pods"') && line.includes('subresource="status"'))
    .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}
