import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { conditionOf } from "../../src/api/conditions.ts";
import type { Pod } from "../../src/api/objects.ts";
import { startKubeletNode } from "../support/kubelet-node.ts";
import { condition, containers, isSandboxReady, toSeconds } from "../support/sandbox-condition.ts";
import { isReady, useSimulatedNode } from "../support/simulated-node.ts";
import { startSimulatedOnSocket } from "../support/simulated-on-socket.ts";

const host = useSimulatedNode();

describe("KEP-3085 PodReadyToStartContainers, of pods that have had a sandbox", () => {
  test("3085-5 sandbox lost: False at once, then True with new times; address and restart count are right", async () => {
    const { node, simulated, given } = host;
    await node.run("lost", { containers });
    const before = await node.until("lost", isReady);
    given({ match: { pod: "lost" }, sandbox: { delayMs: 3_000 } });
    simulated.killSandbox(before.metadata.uid ?? "");
    // The runtime's event says so: the next relist is half a minute away.
    await node.until("lost", (pod) => conditionOf(pod, condition)?.status === "False");
    const after = await node.until("lost", isReady);
    expect(toSeconds(conditionOf(after, condition)?.lastTransitionTime)).toBeGreaterThan(
      toSeconds(conditionOf(before, condition)?.lastTransitionTime),
    );
    expect(after.status?.containerStatuses?.[0]).toMatchObject({ restartCount: 1, ready: true });
    expect(after.status?.podIP).toMatch(/^10\./);
  });

  test("3085-5 the whole node rebooted: False, then every sandbox is made again, with new times", async () => {
    const { node, simulated, given } = host;
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
    expect(toSeconds(conditionOf(after, condition)?.lastTransitionTime)).toBeGreaterThan(
      toSeconds(conditionOf(before, condition)?.lastTransitionTime),
    );
    expect(after.status?.phase).toBe("Running");
  });

  test("3085-6 after the pod has been stopped and before it goes, False is in the API", async () => {
    const { node } = host;
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
    const { node, simulated } = host;
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
    const { node, simulated } = host;
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
});

async function patches(): Promise<number> {
  const { text } = await host.node.server.call("GET", "/metrics");
  const lines = text.split("\n").filter((line) => /^apiserver_request_total\{.*verb="PATCH"/.test(line));
  return lines
    .filter((line) => line.includes('resource="pods"') && line.includes('subresource="status"'))
    .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}
