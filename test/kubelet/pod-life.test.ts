import { mkdirSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { conditionOf } from "../../src/api/meta/object-facts.ts";
import type { Pod } from "../../src/api/meta/objects.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { makePod, userPod } from "../support/manifests/pod.ts";
import { useRecords } from "../support/node/records.ts";
import { containerIdOf, shell, untilTold, useRuntimeNode } from "../support/node/runtime-node.ts";
import { isReady } from "../support/node/simulated-node.ts";
import { describeWithTool } from "../support/programs/tools.ts";

const statusOf = (pod: Pod) => pod.status?.containerStatuses?.[0];
const phaseIs = (phase: string) => (pod: Pod) => pod.status?.phase === phase;

describeWithTool("busybox", "phase and conditions of a pod on our runtime", () => {
  const { mount, volume } = useRecords();
  const staticPodPath = join(temporaryFolder(), "static");
  mkdirSync(staticPodPath);
  const host = useRuntimeNode({ driver: "host", config: { staticPodPath } });

  test("restart policies, exit codes and termination messages", async () => {
    const { node } = host;
    const run = (name: string, restartPolicy: string, script: string, more: object = {}) =>
      node.run(name, { restartPolicy, containers: [shell(script, { ...mount, ...more })], ...volume });
    await run("succeeds", "Never", "echo -n all well > /dev/termination-log");
    await run("fails", "Never", "echo on the way; echo out of cheese; exit 3", {
      terminationMessagePolicy: "FallbackToLogsOnError",
    });
    const once = "test -e /records/failed && exit 0; echo > /records/failed; exit 1";
    await run("second-time", "OnFailure", once);
    await run("for-ever", "Always", "exit 0");

    const succeeded = await node.until("succeeds", phaseIs("Succeeded"));
    expect(statusOf(succeeded)?.state?.terminated).toMatchObject({
      exitCode: 0,
      reason: "Completed",
      message: "all well",
    });
    expect(conditionOf(succeeded, "Ready")?.reason).toBe("PodCompleted");
    const failed = await node.until("fails", phaseIs("Failed"));
    expect(statusOf(failed)?.state?.terminated).toMatchObject({
      exitCode: 3,
      reason: "Error",
      message: "on the way\nout of cheese\n",
    });
    const second = await node.until("second-time", phaseIs("Succeeded"));
    expect(statusOf(second)).toMatchObject({
      restartCount: 1,
      lastState: { terminated: { exitCode: 1 } },
      state: { terminated: { exitCode: 0 } },
    });
    const looping = await node.until(
      "for-ever",
      (pod) => statusOf(pod)?.state?.waiting?.reason === "CrashLoopBackOff",
    );
    expect(looping.status?.phase).toBe("Running");
    expect((await node.untilEvent("for-ever", /^Back-off restarting failed container c in pod/)).reason).toBe(
      "BackOff",
    );
  });

  test("a container that ignores SIGTERM is killed after its grace period", async () => {
    const { node } = host;
    // Ready once it does not listen any more.
    const readinessProbe = { exec: { command: ["cat", "/deaf"] }, periodSeconds: 1, timeoutSeconds: 10 };
    await node.run("deaf", {
      terminationGracePeriodSeconds: 3,
      containers: [shell("trap '' TERM; touch /deaf; while :; do sleep 0.1; done", { readinessProbe })],
    });
    await node.until("deaf", isReady);
    const history = await node.follow("deaf");
    const began = Date.now();
    await node.client.delete("pods", { namespace: "default", name: "deaf" });
    await node.untilGone("deaf");
    expect(Date.now() - began).toBeGreaterThanOrEqual(3_000);
    const last = () => history.versions.at(-1) as Pod;
    await expect.poll(() => statusOf(last())?.state?.terminated?.exitCode).toBe(137);
    await history.stop();
  });

  test("activeDeadlineSeconds fails the pod with reason and message", async () => {
    const { node } = host;
    await node.run("overdue", { containers: [shell(untilTold)] });
    await node.until("overdue", isReady);
    // Set only now: a pod that takes long to start would be over before its container is there.
    const key = { namespace: "default", name: "overdue" };
    await node.client.patch("pods", key, {
      patch: { kind: "merge", body: { spec: { activeDeadlineSeconds: 2 } } },
    });
    const pod = await node.until("overdue", phaseIs("Failed"));
    expect(pod.status).toMatchObject({
      reason: "DeadlineExceeded",
      message: "Pod was active on the node longer than the specified deadline",
      containerStatuses: [{ ready: false, state: { terminated: {} } }],
    });
    const took = Date.parse(statusOf(pod)?.state?.terminated?.finishedAt ?? "");
    expect(took - Date.parse(pod.status?.startTime ?? "")).toBeGreaterThanOrEqual(2_000);
  });

  test("readiness gates: a pod is ready when its containers are and the gate conditions are true", async () => {
    const { node } = host;
    const gate = "example.com/attached";
    await node.run("gated", { readinessGates: [{ conditionType: gate }], containers: [shell(untilTold)] });
    const waiting = await node.until(
      "gated",
      (pod) => conditionOf(pod, "ContainersReady")?.status === "True",
    );
    expect(conditionOf(waiting, "Ready")).toMatchObject({
      status: "False",
      reason: "ReadinessGatesNotReady",
    });
    const say = (status: string) =>
      node.client.patch(
        "pods",
        { namespace: "default", name: "gated" },
        {
          subresource: "status",
          patch: { kind: "strategic", body: { status: { conditions: [{ type: gate, status }] } } },
        },
      );
    await say("True");
    await node.until("gated", isReady);
    await say("False");
    await node.until("gated", (pod) => !isReady(pod));
  });

  test("a runtime class with an unknown handler keeps the pod waiting, with the reason", async () => {
    const { node } = host;
    await node.client.create("runtimeclasses", {
      apiVersion: "node.k8s.io/v1",
      kind: "RuntimeClass",
      metadata: { name: "exotic" },
      handler: "nowhere",
    });
    await node.run("exotic", { runtimeClassName: "exotic", containers: [shell(untilTold)] });
    const event = await node.untilEvent("exotic", /^Failed to create pod sandbox: .*nowhere/);
    expect(event.reason).toBe("FailedCreatePodSandBox");
    const pod = await node.until(
      "exotic",
      (it) => conditionOf(it, "PodReadyToStartContainers")?.reason === "FailedCreatePodSandBox",
    );
    expect(pod.status?.phase).toBe("Pending");
  });

  test("a static pod's mirror is created, restored, updated with the file and deleted with it", async () => {
    const { node, runtime, exec } = host;
    const file = join(staticPodPath, "web.yaml");
    const name = "static-web-node-1";
    async function writePod(word: string): Promise<void> {
      const container = shell(untilTold, { env: [{ name: "WORD", value: word }] });
      const pod = makePod("static-web", { ...userPod, containers: [container] });
      await writeFile(`${staticPodPath}/.web.yaml`, JSON.stringify(pod));
      await rename(`${staticPodPath}/.web.yaml`, file);
    }
    const running = (pod: Pod) => isReady(pod) && statusOf(pod)?.state?.running !== undefined;
    await writePod("one");
    const first = await node.until(name, running);
    expect(first.metadata.ownerReferences).toMatchObject([{ kind: "Node", name: "node-1" }]);
    expect(first.metadata.annotations).toMatchObject({
      "kubernetes.io/config.source": "file",
      "kubernetes.io/config.mirror": expect.any(String),
    });
    expect(await exec(first, "echo $WORD")).toBe("one\n");

    // A mirror is only a picture: without it the pod runs on, and a new one is made.
    await node.client.delete("pods", { namespace: "default", name }, { gracePeriodSeconds: 0 });
    const again = await node.until(name, (pod) => pod.metadata.uid !== first.metadata.uid && running(pod));
    expect(containerIdOf(again)).toBe(containerIdOf(first));

    await writePod("two");
    const edited = await node.until(
      name,
      (pod) => running(pod) && containerIdOf(pod) !== containerIdOf(first),
    );
    expect(await exec(edited, "echo $WORD")).toBe("two\n");

    await rm(file);
    await node.untilGone(name);
    await expect
      .poll(async () => {
        const { containers } = await runtime.client.runtime.listContainers({ filter: undefined });
        return containers.some(({ labels }) => labels["io.kubernetes.pod.name"] === name);
      })
      .toBe(false);
  });
});
