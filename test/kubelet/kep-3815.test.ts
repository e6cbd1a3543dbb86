import { describe, expect, test } from "vitest";
import { conditionOf } from "../../src/api/meta/object-facts.ts";
import type { Secret } from "../../src/api/meta/objects.ts";
import {
  createConfigMap,
  failingToStart,
  fromConfigMap,
  isFailing,
  statusesOf,
  stuckConditions,
  waitingOf,
} from "../support/node/failing-to-start.ts";
import { isReady, useSimulatedNode } from "../support/node/simulated-node.ts";

const image = "web:1";
const host = useSimulatedNode();

describe("KEP-3815 FailingToStart", () => {
  test("3815-4 transient failures never set it: pulls that fail, back off and succeed", async () => {
    const { node, given } = host;
    given({ match: { image: "absent:*" }, pull: { failure: { kind: "notFound" } } });
    given({ match: { image: "private:*" }, pull: { failure: { kind: "unauthorized" } } });
    given({ match: { image: "away:*" }, pull: { failure: { kind: "unavailable" } } });
    const names = ["absent", "private", "away"];
    const histories = await Promise.all(names.map((name) => node.follow(name)));
    for (const name of names) await node.run(name, { containers: [{ name: "c", image: `${name}:1` }] });
    for (const name of names) {
      await node.until(name, (pod) => waitingOf(pod)?.reason === "ImagePullBackOff");
    }
    for (const name of names) given({ match: { image: `${name}:*` }, pull: { failure: undefined } });
    await Promise.all(names.map((name) => node.until(name, isReady, 40_000)));
    for (const { versions, stop } of histories) {
      await stop();
      const reasons = versions.map((pod) => waitingOf(pod)?.reason);
      expect(reasons).toContain("ErrImagePull");
      expect(reasons).toContain("ImagePullBackOff");
      const seen = versions.map((pod) => conditionOf(pod, failingToStart)?.status).filter(Boolean);
      expect(new Set(seen)).toEqual(new Set(["False"]));
    }
  });

  test("3815-4 a container that cannot be created or started and a crash loop do not set it", async () => {
    const { node, given } = host;
    given({ match: { pod: "uncreated" }, container: { createError: "no space left" } });
    given({ match: { pod: "unstarted" }, container: { startError: "exec format error" } });
    given({ match: { pod: "crashing" }, container: { exit: { code: 1 } } });
    for (const [name, reason] of [
      ["uncreated", "CreateContainerError"],
      ["unstarted", "CrashLoopBackOff"],
      ["crashing", "CrashLoopBackOff"],
    ] as const) {
      const history = await node.follow(name);
      await node.run(name, { containers: [{ name: "c", image }] });
      await node.until(name, (pod) => waitingOf(pod)?.reason === reason);
      await history.stop();
      expect(history.versions.some(isFailing)).toBe(false);
    }
  });

  test("3815-5 creating the config map, secret or key starts the pod and turns the condition False", async () => {
    const { node } = host;
    await createConfigMap(node, "half", { other: "x" });
    await node.run("fixed-map", {
      containers: [{ name: "c", image, env: fromConfigMap("late-map", "key") }],
    });
    await node.run("fixed-key", { containers: [{ name: "c", image, env: fromConfigMap("half", "key") }] });
    const valueFrom = { secretKeyRef: { name: "late-secret", key: "key" } };
    await node.run("fixed-secret", {
      containers: [{ name: "c", image, env: [{ name: "KEY", valueFrom }] }],
    });
    const names = ["fixed-map", "fixed-key", "fixed-secret"];
    const before = await Promise.all(names.map((name) => node.until(name, isFailing)));
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await createConfigMap(node, "late-map", { key: "x" });
    await node.client.create("secrets", {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "late-secret", namespace: "default" },
      stringData: { key: "z" },
    } as Secret);
    await node.client.patch(
      "configmaps",
      { namespace: "default", name: "half" },
      { patch: { kind: "merge", body: { data: { key: "y" } } } },
    );
    for (const stuck of before) {
      // At once, not when the next attempt would be due.
      const pod = await node.until(stuck.metadata.name ?? "", isReady, 5_000);
      expect(pod.metadata.uid).toBe(stuck.metadata.uid);
      expect(pod.status?.containerStatuses?.[0]).toMatchObject({ restartCount: 0, started: true });
      expect(statusesOf(pod)).toMatchObject({ Ready: "True", FailingToStart: "False" });
      const [was, is] = [conditionOf(stuck, failingToStart), conditionOf(pod, failingToStart)];
      expect(is?.reason).toBeUndefined();
      expect(Date.parse(is?.lastTransitionTime ?? "")).toBeGreaterThan(
        Date.parse(was?.lastTransitionTime ?? ""),
      );
    }
  });

  test("3815-5 the image of a running pod is corrected in place", async () => {
    const { node } = host;
    await node.run("fixed-image", { containers: [{ name: "c", image: "NOT AN IMAGE" }] });
    const stuck = await node.until("fixed-image", isFailing);
    await node.client.patch(
      "pods",
      { namespace: "default", name: "fixed-image" },
      { patch: { kind: "strategic", body: { spec: { containers: [{ name: "c", image }] } } } },
    );
    const pod = await node.until("fixed-image", isReady, 5_000);
    expect(pod.metadata.uid).toBe(stuck.metadata.uid);
    expect(conditionOf(pod, failingToStart)).toMatchObject({
      status: "False",
      observedGeneration: pod.metadata.generation,
    });
  });

  test("3815-5 a resolved condition stays False: a container restart does not restore the old reason", async () => {
    const { node, simulated, given } = host;
    await node.run("fixed-once", {
      containers: [{ name: "c", image, env: fromConfigMap("once-map", "key") }],
    });
    await node.until("fixed-once", isFailing);
    await createConfigMap(node, "once-map", { key: "x" });
    const { metadata } = await node.until("fixed-once", isReady);
    // Long enough for what is said meanwhile to be written.
    given({ match: { pod: "fixed-once" }, container: { startDelayMs: 1_500 } });
    const history = await node.follow("fixed-once");
    simulated.exitContainer(metadata.uid ?? "", "c", 1);
    await node.until(
      "fixed-once",
      (pod) => pod.status?.containerStatuses?.[0]?.restartCount === 1 && isReady(pod),
    );
    await history.stop();
    expect(history.versions.some(isFailing)).toBe(false);
  });

  test("3815-7 an init container counts too", async () => {
    const { node } = host;
    await node.run("init-stuck", {
      initContainers: [{ name: "first", image, env: fromConfigMap("no-such-map", "key") }],
      containers: [{ name: "c", image }],
    });
    const pod = await node.until("init-stuck", isFailing);
    const message = 'configmap "no-such-map" not found';
    expect(conditionOf(pod, failingToStart)).toMatchObject({ reason: "CreateContainerConfigError", message });
    expect(pod.status?.initContainerStatuses?.[0]?.state).toEqual({
      waiting: { reason: "CreateContainerConfigError", message },
    });
    expect(waitingOf(pod)).toEqual({ reason: "PodInitializing" });
    expect(statusesOf(pod)).toMatchObject({ Initialized: "False", PodReadyToStartContainers: "True" });
  });

  test("3815-7 several failing containers are each named, and one that runs is not", async () => {
    const { node } = host;
    await node.run("several", {
      containers: [
        { name: "fine", image },
        { name: "misnamed", image: "BUSYBOX" },
        { name: "unset", image, env: fromConfigMap("nowhere", "key") },
      ],
    });
    const pod = await node.until(
      "several",
      (it) => isFailing(it) && /unset/.test(conditionOf(it, failingToStart)?.message ?? ""),
    );
    expect(conditionOf(pod, failingToStart)).toMatchObject({
      reason: "InvalidImageName",
      message:
        'container misnamed: InvalidImageName: Failed to apply default image tag "BUSYBOX": couldn\'t parse image reference "BUSYBOX": invalid reference format: repository name must be lowercase; container unset: CreateContainerConfigError: configmap "nowhere" not found',
    });
    expect(pod.status?.containerStatuses?.[0]?.state?.running).toBeDefined();
    expect(pod.status?.phase).toBe("Pending");
  });

  test("3815-8 gate off: never written, and what an earlier kubelet wrote stays; on again, it is maintained again", async () => {
    const { node } = host;
    const containers = [{ name: "c", image: "BUSYBOX" }];
    await node.run("gated-before", { containers });
    const before = await node.until("gated-before", isFailing);
    await node.stop();
    await node.start({ features: { PodFailingToStartCondition: false } });
    const history = await node.follow("gated");
    await node.run("gated", { containers });
    const gated = await node.until("gated", (pod) => waitingOf(pod)?.reason === "InvalidImageName");
    expect(statusesOf(gated)).toEqual(stuckConditions);
    const kept = await node.until("gated-before", () => true);
    expect(conditionOf(kept, failingToStart)).toEqual(conditionOf(before, failingToStart));
    await node.stop();
    await history.stop();
    expect(history.versions.some((pod) => conditionOf(pod, failingToStart))).toBe(false);
    await node.start();
    expect(conditionOf(await node.until("gated", isFailing), failingToStart)?.reason).toBe(
      "InvalidImageName",
    );
  });
});
