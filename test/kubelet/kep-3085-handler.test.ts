import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { conditionOf } from "../../src/api/meta/object-facts.ts";
import type { Pod, RuntimeClass } from "../../src/api/meta/objects.ts";
import { noConfig } from "../../src/runtime/runtime-config.ts";
import { type CriRuntime, startCriRuntime } from "../support/cri/cri-runtime.ts";
import { type GatedHandler, makeGatedHandler } from "../support/cri/gated-handler.ts";
import { secondsOf, useMonitors } from "../support/monitor/running-monitor.ts";
import { type KubeletNode, startKubeletNode } from "../support/node/kubelet-node.ts";
import { shell, untilTold } from "../support/node/runtime-node.ts";
import { condition, isSandboxReady, toSeconds } from "../support/node/sandbox-condition.ts";
import { isReady } from "../support/node/simulated-node.ts";
import { describeWithTool } from "../support/programs/tools.ts";

const containers = [shell(untilTold)];
const panic = "the guest kernel panicked";
const event = /^Failed to create pod sandbox: runtime handler "microvm" failed to create the sandbox: /;

describeWithTool("busybox", "KEP-3085 with a RuntimeClass whose handler is slow or fails", () => {
  describeWithTool("runc", "on real containers", () => {
    let handler: GatedHandler;
    let runtime: CriRuntime;
    let node: KubeletNode;
    const startMonitor = useMonitors();

    beforeAll(async () => {
      handler = makeGatedHandler();
      const handlers = new Map([["microvm", handler.path]]);
      runtime = await startCriRuntime({ driver: "oci", runtimeConfig: { ...noConfig, handlers } });
      node = await startKubeletNode({ cri: runtime.client });
      await node.client.create("runtimeclasses", {
        apiVersion: "node.k8s.io/v1",
        kind: "RuntimeClass",
        metadata: { name: "kernel-per-pod" },
        handler: "microvm",
      } as RuntimeClass);
    });
    afterEach(() => handler.open());
    afterAll(async () => {
      await node?.close();
      await runtime?.stop();
      handler?.remove();
    });

    const run = (name: string) => node.run(name, { containers, runtimeClassName: "kernel-per-pod" });
    const conditionNow = async (name: string) => conditionOf((await node.get(name)) as Pod, condition);
    const untilFailed = (name: string) =>
      node.until(name, (pod) => conditionOf(pod, condition)?.reason === "FailedCreatePodSandBox");
    const untilWaiting = () => expect.poll(() => handler.waiting().length, { timeout: 30_000 }).toBe(1);
    const handlerContainers = join("driver/handlers/microvm/oci/containers");
    const madeByHandler = () => readdirSync(join(runtime.dataDir, handlerContainers));

    test("3085-15 3085-3 a handler that crashes and then is slow keeps it False, is named, and its time is its RuntimeClass's latency", async () => {
      const monitor = await startMonitor("handler", { kubeconfig: node.server.kubeconfig });
      handler.fail(panic);
      await run("slow");
      const failed = conditionOf(await untilFailed("slow"), condition);
      expect(failed).toMatchObject({ status: "False", message: expect.stringMatching(event) });
      expect(failed?.message).toContain(panic);
      expect(await node.untilEvent("slow", event)).toMatchObject({
        type: "Warning",
        reason: "FailedCreatePodSandBox",
      });

      handler.hold();
      handler.stopFailing();
      await untilWaiting();
      // The default runtime is not held up.
      await node.run("beside", { containers });
      await node.until("beside", isReady);
      const scheduled = toSeconds(
        conditionOf((await node.get("slow")) as Pod, "PodScheduled")?.lastTransitionTime,
      );
      await expect.poll(() => Date.now() / 1_000, { timeout: 30_000 }).toBeGreaterThan(scheduled + 2);
      expect(await conditionNow("slow")).toMatchObject({
        status: "False",
        lastTransitionTime: failed?.lastTransitionTime,
      });

      handler.open();
      const pod = await node.until("slow", isReady);
      const ready = conditionOf(pod, condition);
      expect(ready?.status).toBe("True");
      const latency = toSeconds(ready?.lastTransitionTime) - scheduled;
      expect(latency).toBeGreaterThanOrEqual(2);
      await expect.poll(() => monitor.of("slow")).toContain("first sandbox");
      expect(secondsOf(monitor.signals("slow"), "first sandbox")).toBe(latency);
      expect(monitor.signals("slow")[0]?.start.class.runtimeClass).toBe("kernel-per-pod");
      expect(madeByHandler()).toHaveLength(2);
      await node.client.delete("pods", { namespace: "default", name: "slow" });
      await node.untilGone("slow");
      await expect.poll(madeByHandler).toEqual([]);
    });

    test("3085-15 3085-4 a handler that never works: False with an unmoved time over retries, until the pod is deleted", async () => {
      handler.fail(panic);
      const before = handler.attempts().length;
      await run("never");
      const first = conditionOf(await untilFailed("never"), condition);
      await expect
        .poll(() => handler.attempts().length, { timeout: 60_000 })
        .toBeGreaterThanOrEqual(before + 4);
      expect(await conditionNow("never")).toMatchObject({
        status: "False",
        reason: "FailedCreatePodSandBox",
        message: expect.stringMatching(event),
        lastTransitionTime: first?.lastTransitionTime,
      });
      // No sandbox's id is in the message: all attempts are one event.
      const failures = async () =>
        (await node.events("never")).filter(({ message }) => event.test(message ?? ""));
      await expect.poll(async () => (await failures())[0]?.count).toBeGreaterThan(1);
      expect(await failures()).toHaveLength(1);
      await node.client.delete("pods", { namespace: "default", name: "never" });
      await node.untilGone("never");
      await expect.poll(madeByHandler).toEqual([]);
    });

    test("3085-15 a pod whose handler hangs can be deleted, and the handler's process is killed", async () => {
      handler.hold();
      await run("hung");
      await untilWaiting();
      expect(await conditionNow("hung")).toMatchObject({ status: "False" });
      await node.client.delete("pods", { namespace: "default", name: "hung" });
      await node.untilGone("hung");
      await expect.poll(() => handler.waiting(), { timeout: 30_000 }).toEqual([]);
      await expect.poll(madeByHandler).toEqual([]);
    });

    test("3085-5 a handler's sandbox that dies: False, then True with a new sandbox and new times", async () => {
      await run("lost");
      const before = await node.until("lost", isReady);
      const sandboxes = async () =>
        (await runtime.client.runtime.listPodSandbox({ filter: undefined })).items.filter(
          ({ metadata }) => metadata?.uid === before.metadata.uid,
        );
      const [sandbox] = await sandboxes();
      const made = join(runtime.dataDir, handlerContainers, sandbox?.id ?? "", "made.json");
      handler.hold();
      process.kill(JSON.parse(readFileSync(made, "utf8")).container.pid, "SIGKILL");
      await node.until("lost", (pod) => conditionOf(pod, condition)?.status === "False");
      await untilWaiting();
      const lostAt = toSeconds(conditionOf(before, condition)?.lastTransitionTime);
      await expect.poll(() => Date.now() / 1_000, { timeout: 30_000 }).toBeGreaterThan(lostAt + 1);
      handler.open();
      const after = await node.until(
        "lost",
        (pod) => isSandboxReady(pod) && pod.status?.containerStatuses?.[0]?.restartCount === 1,
      );
      expect(toSeconds(conditionOf(after, condition)?.lastTransitionTime)).toBeGreaterThan(lostAt);
    });
  });
});
