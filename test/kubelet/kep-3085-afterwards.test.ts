import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { conditionOf } from "../../src/api/meta/object-facts.ts";
import type { Pod } from "../../src/api/meta/objects.ts";
import type { Client } from "../../src/client/api/client.ts";
import type { CriClient } from "../../src/cri/cri-client.ts";
import { PodSandboxState, type PodSandboxStatus } from "../../src/cri/generated/cri.ts";
import type { SimulatedRuntime } from "../../src/simulated/start-simulated-runtime.ts";
import { type KubeletNode, startKubeletNode } from "../support/node/kubelet-node.ts";
import { condition, containers, isSandboxReady, toSeconds } from "../support/node/sandbox-condition.ts";
import { isReady, useSimulatedNode } from "../support/node/simulated-node.ts";
import { startSimulatedOnSocket } from "../support/node/simulated-on-socket.ts";

// The API server asks the kubelet at the node's own address.
const host = useSimulatedNode({ config: { address: "0.0.0.0" } });

describe("KEP-3085 PodReadyToStartContainers, of pods that have had a sandbox", () => {
  test("3085-5 sandbox lost: False at once, then True with new times; address and restart count are right", async () => {
    const { node, simulated, given } = host;
    await node.run("lost", { containers });
    const before = await node.until("lost", isReady);
    given({ match: { pod: "lost" }, sandbox: { delayMs: 3_000 } });
    simulated.killSandbox(before.metadata.uid ?? "");
    // The runtime's event reports it: the next relist is half a minute later.
    await node.until("lost", (pod) => conditionOf(pod, condition)?.status === "False");
    const after = await node.until("lost", isReady);
    expect(toSeconds(conditionOf(after, condition)?.lastTransitionTime)).toBeGreaterThan(
      toSeconds(conditionOf(before, condition)?.lastTransitionTime),
    );
    expect(after.status?.containerStatuses?.[0]).toMatchObject({ restartCount: 1, ready: true });
    expect(after.status?.podIP).toMatch(/^10\./);
  });

  test("3085-5 after a reboot of the node: False, then every sandbox is recreated with new times", async () => {
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

  test("3085-6 True until the pod has stopped; False is in the API before the pod is deleted", async () => {
    const { node, given } = host;
    await node.run("graceful", { containers, terminationGracePeriodSeconds: 30 });
    const pod = await node.until("graceful", isReady);
    // Long enough to see what is written before it is over.
    given({ match: { pod: "graceful" }, container: { stopDelayMs: 1_500 } });
    const seen = await watchDeletion(node, pod);
    const whileItRuns = seen.filter((line) => line.endsWith(" running"));
    expect(new Set(whileItRuns)).toEqual(new Set(["MODIFIED True running"]));
    expect(seen).toContain("MODIFIED False 143");
    expect(seen.at(-1)).toMatch(/^DELETED False/);
  });

  describe("with an API server that is slow to accept writes", () => {
    let machine: SimulatedRuntime;
    let slow: KubeletNode;
    beforeAll(async () => {
      machine = await startSimulatedOnSocket({ imagesPresent: true });
      slow = await startKubeletNode({
        cri: lateToNotice(machine.client, "awaited"),
        config: { shutdownGracePeriod: "4s", shutdownGracePeriodCriticalPods: "2s" },
        through: slowToPatch,
      });
    });
    afterAll(async () => {
      await slow?.close();
      await machine?.close();
    });

    test("3085-6 the pod is not deleted before False is written, whatever the runtime reports about its sandbox", async () => {
      await slow.run("awaited", { containers });
      const seen = await watchDeletion(slow, await slow.until("awaited", isReady));
      expect(seen.at(-1)).toMatch(/^DELETED False/);
    });

    test("3085-6 a node shutdown waits until the pods have failed and their sandboxes are removed", async () => {
      const names = ["shut-down", "shut-down-last"];
      await slow.run("shut-down", { containers });
      await slow.run("shut-down-last", { containers, priorityClassName: "system-node-critical" });
      for (const name of names) await slow.until(name, isReady);
      await slow.shutDown();
      for (const name of names) {
        const pod = (await slow.get(name)) as Pod;
        const gone = { status: "False", message: "pod sandbox is not ready" };
        expect(conditionOf(pod, condition)).toMatchObject(gone);
        expect(pod.status).toMatchObject({
          phase: "Failed",
          reason: "Terminated",
          message: "Pod was terminated in response to imminent node shutdown.",
        });
      }
      await slow.run("too-late", { containers });
      const rejected = await slow.until("too-late", ({ status }) => status?.phase === "Failed");
      expect(rejected.status?.reason).toBe("NodeShutdown");
      expect((await slow.untilEvent("too-late", /node is shutting down/)).reason).toBe("NodeShutdown");
    });
  });

  test("3085-7 gate off: neither evaluated, written nor removed; on again, every pod has it", async () => {
    const { node, simulated, given } = host;
    const outage = given({ match: { pod: "gated-never" }, sandbox: { networkError: "no plugin" } });
    await node.run("gated-before", { containers });
    await node.run("gated-never", { containers });
    const { metadata } = await node.until("gated-before", isReady);
    await node.until("gated-never", (pod) => conditionOf(pod, condition)?.status === "False");
    await node.stop();
    simulated.rules.remove(outage);
    const written = [await ownConditions("gated-before"), await ownConditions("gated-never"), []];
    expect(written.map((of) => of?.map(({ status }) => status))).toEqual([["True"], ["False"], []]);

    await node.start({ features: { PodReadyToStartContainersCondition: false } });
    await node.run("gated", { containers });
    for (const name of ["gated", "gated-never"]) await node.until(name, isReady);
    simulated.killSandbox(metadata.uid ?? "");
    await node.until(
      "gated-before",
      (pod) => pod.status?.containerStatuses?.[0]?.restartCount === 1 && isReady(pod),
    );
    const names = ["gated-before", "gated-never", "gated"];
    expect(await Promise.all(names.map(ownConditions))).toEqual(written);
    // The kubelet has no other status that is not written yet.
    const pods = `/api/v1/nodes/${node.name}/proxy/pods`;
    const { items } = await node.server.json<{ items: Pod[] }>("GET", pods);
    const inMind = names.map((name) => items.find((pod) => pod.metadata.name === name));
    expect(inMind.map(conditionsOf)).toEqual(written);

    await node.stop();
    await node.start();
    await node.run("gated-after", { containers });
    for (const name of [...names, "gated-after"]) await node.until(name, isSandboxReady);
  });

  test("3085-9 one PATCH for all changes, none without a change, and a bounded rate for a flapping sandbox", async () => {
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
    const isUp = () => [...(simulated.state.byPod.get(uid) ?? [])].some(({ state }) => state === "ready");
    const began = Date.now();
    for (let flaps = 0; flaps < 10; flaps++) {
      await expect.poll(isUp, { interval: 10 }).toBe(true);
      simulated.killSandbox(uid);
    }
    await node.until("counted", isReady);
    const written = (await patches()) - settled;
    // A burst, and then one a second.
    expect(written).toBeLessThanOrEqual(10 + Math.ceil((Date.now() - began) / 1_000));
  });
});

const conditionsOf = (pod?: Pod) => pod?.status?.conditions?.filter(({ type }) => type === condition);
const ownConditions = async (name: string) => conditionsOf(await host.node.get(name));

const slowToPatch = (client: Client): Client => ({
  ...client,
  async patch(resource, key, options) {
    await pause(700);
    return client.patch(resource, key, options);
  },
});

/** A runtime that reports a stopped sandbox as ready. */
function lateToNotice(cri: CriClient, pod: string): CriClient {
  let ready: PodSandboxStatus | undefined;
  const stillReady = (status: PodSandboxStatus | undefined) => {
    if (status?.metadata?.name !== pod) return status;
    if (status.state === PodSandboxState.SANDBOX_READY) ready = status;
    return ready ?? status;
  };
  return {
    ...cri,
    runtime: {
      ...cri.runtime,
      async podSandboxStatus(...call) {
        const answer = await cri.runtime.podSandboxStatus(...call);
        return { ...answer, status: stillReady(answer.status) };
      },
      async *getContainerEvents(...call) {
        for await (const event of cri.runtime.getContainerEvents(...call))
          yield { ...event, podSandboxStatus: stillReady(event.podSandboxStatus) };
      },
    },
  };
}

/** Deletes the pod and returns each version until the deletion: `MODIFIED True running`, `DELETED False 143`. */
async function watchDeletion({ client }: KubeletNode, { metadata }: Pod): Promise<string[]> {
  const { name = "", resourceVersion = "" } = metadata;
  const options = { namespace: "default", fieldSelector: `metadata.name=${name}`, resourceVersion };
  const seen: string[] = [];
  await client.delete("pods", { namespace: "default", name });
  for await (const event of client.watch("pods", options)) {
    if (event.type === "BOOKMARK") continue;
    const { running, terminated } = event.object.status?.containerStatuses?.[0]?.state ?? {};
    const state = running ? "running" : terminated?.exitCode;
    seen.push(`${event.type} ${conditionOf(event.object, condition)?.status} ${state}`);
    if (event.type === "DELETED") break;
  }
  return seen;
}

async function patches(): Promise<number> {
  const { text } = await host.node.server.call("GET", "/metrics");
  const lines = text.split("\n").filter((line) => /^apiserver_request_total\{.*verb="PATCH"/.test(line));
  return lines
    .filter((line) => line.includes('resource="pods"') && line.includes('subresource="status"'))
    .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}
