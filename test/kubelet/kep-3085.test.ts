import { describe, expect, test } from "vitest";
import { conditionOf } from "../../src/api/meta/object-facts.ts";
import type { Pod } from "../../src/api/meta/objects.ts";
import { condition, containers, isSandboxReady, toSeconds } from "../support/node/sandbox-condition.ts";
import { isReady, useSimulatedNode } from "../support/node/simulated-node.ts";

/** By pod: what each attempt at its volumes waits for, or fails with. */
const volumes = new Map<string, () => Promise<void>>();
const host = useSimulatedNode({
  beforeVolume: async ({ metadata }) => volumes.get(metadata.name ?? "")?.(),
});

describe("KEP-3085 PodReadyToStartContainers, until a pod has its sandbox", () => {
  test("3085-1 False as soon as the kubelet sees the pod, True with the sandbox; the transition time changes with the status", async () => {
    const { node, simulated, given } = host;
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
    expect(toSeconds(after?.lastTransitionTime)).toBeGreaterThan(toSeconds(before?.lastTransitionTime));
    expect(pod.status?.podIP).toMatch(/^10\./);
    // Later writes of the status leave the time alone; times have whole seconds, so they come in a later one.
    await expect.poll(() => Date.now() / 1_000).toBeGreaterThan(toSeconds(after?.lastTransitionTime) + 1);
    simulated.exitContainer(pod.metadata.uid ?? "", "c", 1);
    const restarted = await node.until(
      "one",
      (it) => it.status?.containerStatuses?.[0]?.restartCount === 1 && isReady(it),
    );
    expect(conditionOf(restarted, condition)?.lastTransitionTime).toBe(after?.lastTransitionTime);
  });

  test("3085-1 a pod with hostNetwork does not wait for an address", async () => {
    const { node } = host;
    await node.run("host", { containers, hostNetwork: true });
    const pod = await node.until("host", isReady);
    expect(conditionOf(pod, condition)?.status).toBe("True");
    expect(pod.status?.podIP).toBe(pod.status?.hostIP);
  });

  test("3085-2 a healthy pod: True minus PodScheduled is the sandbox's latency, to the second", async () => {
    const { node, simulated, given } = host;
    given({ match: { pod: "two" }, sandbox: { delayMs: 2_000 } });
    given({ match: { image: "two:*" }, pull: { delayMs: 2_000 } });
    await node.run("two", { containers: [{ name: "c", image: "two:1" }] });
    const pod = await node.until("two", isReady);
    const scheduled = toSeconds(conditionOf(pod, "PodScheduled")?.lastTransitionTime);
    const latency = toSeconds(conditionOf(pod, condition)?.lastTransitionTime) - scheduled;
    // By the runtime's own times: after the sandbox stood, and before the pull for the first container began.
    const [sandbox] = simulated.state.byPod.get(pod.metadata.uid ?? "") ?? [];
    const standsAt = (sandbox?.createdAt ?? Number.NaN) + 2_000;
    const pulledFrom = (sandbox?.containers[0]?.createdAt ?? Number.NaN) - 2_000;
    // Timers may be a little early.
    expect(latency).toBeGreaterThanOrEqual(Math.floor((standsAt - 50) / 1_000) - scheduled);
    expect(latency).toBeLessThanOrEqual(Math.floor((pulledFrom + 50) / 1_000) - scheduled);
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
      const { node, given } = host;
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
    const { node, simulated } = host;
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

  test("3085-11 a missing secret volume (3085-3: the slow volume) keeps it False; once it is created the pod starts", async () => {
    const { node } = host;
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
    const { node, given } = host;
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

  test("3085-10 Initialized is True early, also for a pod whose volumes never mount", async () => {
    const { node } = host;
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
