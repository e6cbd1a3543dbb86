import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { conditionOf } from "../../src/api/meta/object-facts.ts";
import type { Pod } from "../../src/api/meta/objects.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { makePod } from "../support/manifests/pod.ts";
import {
  createConfigMap,
  failingToStart,
  fromConfigMap,
  isFailing,
  waitingOf,
} from "../support/node/failing-to-start.ts";
import type { KubeletNode } from "../support/node/kubelet-node.ts";
import { isReady, useSimulatedNode } from "../support/node/simulated-node.ts";

const image = "web:1";
const staticPodPath = temporaryFolder();
const host = useSimulatedNode({ config: { staticPodPath } });

/** Every cause of the condition, in main and init containers, alone and together. */
const stuckPods: Readonly<Record<string, object>> = {
  "invalid-name": { containers: [{ name: "c", image: "NOT AN IMAGE" }] },
  "never-pulled": { containers: [{ name: "c", image: "absent:1", imagePullPolicy: "Never" }] },
  "no-config-map": { containers: [{ name: "c", image, env: fromConfigMap("absent", "key") }] },
  "init-stuck": {
    initContainers: [{ name: "first", image, env: fromConfigMap("absent", "key") }],
    containers: [{ name: "c", image }],
  },
  "two-stuck": {
    containers: [
      { name: "fine", image },
      { name: "misnamed", image: "BUSYBOX" },
      { name: "unset", image, env: fromConfigMap("absent", "key") },
    ],
  },
};

const conditionIn = (pod: Pod) => conditionOf(pod, failingToStart);
/** Fields that kubectl and controllers read. */
const shown = (pod: Pod) => {
  const { status, reason, message, lastTransitionTime } = conditionIn(pod) ?? {};
  return { status, reason, message, lastTransitionTime };
};
const transitionOf = (pod: Pod) => Date.parse(conditionIn(pod)?.lastTransitionTime ?? "");

/** Waits until new timestamps differ from the pod's: the API has whole seconds. */
async function untilAnotherSecond(pods: readonly Pod[]): Promise<void> {
  const latest = Math.max(...pods.map(transitionOf));
  await expect.poll(() => Math.floor(Date.now() / 1_000) * 1_000).toBeGreaterThan(latest);
}

/** Number of events of the kubelets that a container of the pod cannot start. */
async function countFailures(node: KubeletNode, name: string): Promise<number> {
  const warnings = (await node.events(name)).filter(({ type }) => type === "Warning");
  return warnings.reduce((sum, { count = 1 }) => sum + count, 0);
}

/** Waits until the kubelet has retried, more than once if a failure is one event. */
async function untilTriedAgain(node: KubeletNode, name: string, failuresBefore: number): Promise<void> {
  await expect.poll(() => countFailures(node, name), { timeout: 60_000 }).toBeGreaterThan(failuresBefore + 1);
}

describe("KEP-3815 FailingToStart over a restart of the kubelet", () => {
  test("3815-9 three restarts: no version of the pod has another status, reason or transition time", async () => {
    const { node, given } = host;
    given({ match: { image: "absent:*" }, pull: { failure: { kind: "notFound" } } });
    const names = Object.keys(stuckPods);
    for (const [name, spec] of Object.entries(stuckPods)) await node.run(name, spec);
    const isSettled = (pod: Pod) =>
      isFailing(pod) && (pod.metadata.name !== "two-stuck" || /unset/.test(conditionIn(pod)?.message ?? ""));
    const before = await Promise.all(names.map((name) => node.until(name, isSettled)));
    const histories = await Promise.all(names.map((name) => node.follow(name)));
    await untilAnotherSecond(before);
    for (const end of [node.stop, node.kill, node.stop]) {
      await end();
      const failures = await Promise.all(names.map((name) => countFailures(node, name)));
      await node.start();
      await Promise.all(names.map((name, i) => untilTriedAgain(node, name, failures[i] ?? 0)));
    }
    for (const [i, { versions, stop }] of histories.entries()) {
      await stop();
      const expected = shown(before[i] as Pod);
      expect(versions.map(shown).filter((each) => JSON.stringify(each) !== JSON.stringify(expected))).toEqual(
        [],
      );
      expect(shown(await node.until(names[i] ?? "", () => true))).toEqual(expected);
    }
  });

  test("3815-9 a static pod's condition stays unchanged too", async () => {
    const { node } = host;
    const file = makePod("static", { container: { image: "BUSYBOX" } });
    await writeFile(join(staticPodPath, "static.json"), JSON.stringify(file));
    const name = `static-${node.name}`;
    const before = await node.until(name, isFailing);
    const history = await node.follow(name);
    await untilAnotherSecond([before]);
    await node.stop();
    const failures = await countFailures(node, name);
    await node.start();
    await untilTriedAgain(node, name, failures);
    await history.stop();
    for (const version of history.versions) expect(shown(version)).toEqual(shown(before));
    expect(shown(await node.until(name, () => true))).toEqual(shown(before));
    await rm(join(staticPodPath, "static.json"));
    await node.untilGone(name);
  });

  test("3815-9 fixed while the kubelet was away: the pod starts and the condition turns False, once, with a new time", async () => {
    const { node } = host;
    await node.run("fixed-away", {
      containers: [{ name: "c", image, env: fromConfigMap("away", "key") }],
    });
    const before = await node.until("fixed-away", isFailing);
    const history = await node.follow("fixed-away");
    await untilAnotherSecond([before]);
    await node.stop();
    await createConfigMap(node, "away", { key: "x" });
    await node.start();
    const after = await node.until("fixed-away", isReady);
    await history.stop();
    expect(conditionIn(after)?.status).toBe("False");
    expect(conditionIn(after)?.reason).toBeUndefined();
    expect(transitionOf(after)).toBeGreaterThan(transitionOf(before));
    const statuses = history.versions.map((pod) => conditionIn(pod)?.status);
    expect(statuses.filter((status, i) => status !== statuses[i - 1])).toEqual(
      statuses[0] === "True" ? ["True", "False"] : ["False"],
    );
  });

  test("3815-9 an image that was corrected while the kubelet was away is no failure, however long its pull takes", async () => {
    const { node, given } = host;
    await node.run("corrected-away", { containers: [{ name: "c", image: "NOT AN IMAGE" }] });
    await node.until("corrected-away", isFailing);
    await node.stop();
    await node.client.patch(
      "pods",
      { namespace: "default", name: "corrected-away" },
      { patch: { kind: "strategic", body: { spec: { containers: [{ name: "c", image: "absent:1" }] } } } },
    );
    given({ match: { image: "absent:*" }, pull: { stallAtByte: 1 } });
    await node.start();
    const pulling = await node.until("corrected-away", (pod) => !isFailing(pod));
    expect(waitingOf(pulling)?.reason).toBe("ContainerCreating");
    await node.client.delete("pods", { namespace: "default", name: "corrected-away" });
    await node.untilGone("corrected-away");
  });

  test("3815-9 the gate is off for one kubelet in between: the condition is the same before, meanwhile and after", async () => {
    const { node } = host;
    await node.run("gated-between", { containers: [{ name: "c", image: "BUSYBOX" }] });
    const before = await node.until("gated-between", isFailing);
    const history = await node.follow("gated-between");
    await untilAnotherSecond([before]);
    for (const PodFailingToStartCondition of [false, true]) {
      await node.stop();
      const failures = await countFailures(node, "gated-between");
      await node.start({ features: { PodFailingToStartCondition } });
      await untilTriedAgain(node, "gated-between", failures);
    }
    await history.stop();
    for (const version of history.versions) expect(shown(version)).toEqual(shown(before));
    expect(shown(await node.until("gated-between", () => true))).toEqual(shown(before));
  });
});

describe("KEP-3815 FailingToStart at the end of a pod", () => {
  const stuck = { containers: [{ name: "c", image, env: fromConfigMap("never", "key") }] };
  const last = {
    status: "True",
    reason: "CreateContainerConfigError",
    message: 'configmap "never" not found',
  };

  test("3815-9 activeDeadlineSeconds ends the pod: reason, message and time are unchanged, also after a restart", async () => {
    const { node } = host;
    await node.run("overdue", { ...stuck, activeDeadlineSeconds: 3 });
    const before = await node.until("overdue", isFailing);
    const ended = await node.until("overdue", (pod) => pod.status?.phase === "Failed");
    expect(ended.status?.reason).toBe("DeadlineExceeded");
    expect(shown(ended)).toEqual({ ...last, lastTransitionTime: conditionIn(before)?.lastTransitionTime });
    const history = await node.follow("overdue");
    await node.stop();
    await node.start();
    // A pod that was created later has been synced, so this one has been too.
    await node.run("after-overdue", { containers: [{ name: "c", image }] });
    await node.until("after-overdue", isReady);
    await history.stop();
    for (const version of history.versions) expect(shown(version)).toEqual(shown(ended));
  });

  test("3815-9 an eviction ends the pod: its last version keeps reason and message", async () => {
    const { node } = host;
    await node.run("evicted", stuck);
    const before = await node.until("evicted", isFailing);
    const history = await node.follow("evicted");
    await node.server.json("POST", "/api/v1/namespaces/default/pods/evicted/eviction", {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name: "evicted", namespace: "default" },
    });
    await node.untilGone("evicted");
    await expect.poll(() => history.versions.some((pod) => pod.status?.phase === "Failed")).toBe(true);
    await history.stop();
    for (const version of history.versions) expect(shown(version)).toEqual(shown(before));
  });

  test("3815-9 a node shutdown: the pod fails with unchanged reason and message", async () => {
    const { node } = host;
    await node.run("shut-down", stuck);
    const before = await node.until("shut-down", isFailing);
    await node.shutDown();
    const ended = await node.until("shut-down", (pod) => pod.status?.phase === "Failed");
    expect(shown(ended)).toEqual(shown(before));
    await node.stop();
    await node.start();
  });
});
