import { describe, expect, test } from "vitest";
import type { Pod } from "../../src/api/objects.ts";
import { conditionOf, type KubeletNode } from "../support/kubelet-node.ts";
import { isReady, useSimulatedNode } from "../support/simulated-node.ts";

const type = "FailingToStart";
const image = "web:1";
const host = useSimulatedNode();

const isFailing = (pod: Pod) => conditionOf(pod, type)?.status === "True";
const statuses = (pod: Pod) =>
  Object.fromEntries((pod.status?.conditions ?? []).map((each) => [each.type, each.status]));
const waitingOf = (pod: Pod, index = 0) => pod.status?.containerStatuses?.[index]?.state?.waiting;

/** As the proposal lists them for a pod whose containers cannot be started. */
const stuckConditions = {
  Initialized: "True",
  Ready: "False",
  ContainersReady: "False",
  PodScheduled: "True",
  PodReadyToStartContainers: "True",
};

function makeConfigMap(node: KubeletNode, name: string, data: Record<string, string>) {
  return node.client.create("configmaps", {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "default" },
    data,
  });
}

function fromConfigMap(name: string, key: string) {
  return [{ name: "SPECIAL", valueFrom: { configMapKeyRef: { name, key } } }];
}

describe("KEP-3815 Pending Pod State Review, field by field", () => {
  test.each([
    {
      id: "3815-1",
      name: "invalid-image-name",
      container: { image: "BUSYBOX" },
      reason: "InvalidImageName",
      message:
        'Failed to apply default image tag "BUSYBOX": couldn\'t parse image reference "BUSYBOX": invalid reference format: repository name must be lowercase',
    },
    {
      id: "3815-2",
      name: "never-pulled",
      container: { image: "not-here:1", imagePullPolicy: "Never" },
      reason: "ErrImageNeverPull",
      message: 'Container image "not-here:1" is not present with pull policy of Never',
    },
    {
      id: "3815-3",
      name: "no-config-map",
      container: { image, env: fromConfigMap("missing-config", "special.how") },
      reason: "CreateContainerConfigError",
      message: 'configmap "missing-config" not found',
    },
    {
      id: "3815-3",
      name: "no-secret",
      container: { image, envFrom: [{ secretRef: { name: "missing-secret" } }] },
      reason: "CreateContainerConfigError",
      message: 'secret "missing-secret" not found',
    },
    {
      id: "3815-3",
      name: "no-key",
      container: { image, env: fromConfigMap("special-config", "special.how") },
      reason: "CreateContainerConfigError",
      message: "couldn't find key special.how in ConfigMap default/special-config",
    },
  ])(
    "$id $name: $reason, and the pod is as the proposal says",
    async ({ name, container, reason, message }) => {
      const { node, given } = host;
      given({ match: { image: "not-here*" }, pull: { failure: { kind: "notFound" } } });
      if (name === "no-key") await makeConfigMap(node, "special-config", { "special.type": "charm" });
      await node.run(name, { containers: [{ name: "c", ...container }] });
      const pod = await node.until(name, isFailing);
      expect(pod.status?.phase).toBe("Pending");
      expect(pod.status?.containerStatuses).toMatchObject([
        {
          name: "c",
          image: container.image,
          imageID: "",
          ready: false,
          started: false,
          restartCount: 0,
          state: { waiting: { reason, message } },
          lastState: {},
        },
      ]);
      expect(statuses(pod)).toEqual({ ...stuckConditions, FailingToStart: "True" });
      expect(conditionOf(pod, type)).toMatchObject({ status: "True", reason, message });
      expect(conditionOf(pod, type)?.lastProbeTime ?? null).toBeNull();
      expect(await row(name)).toMatchObject({ ready: "0/1", status: reason });
      // However often it is tried again, it has been so since then.
      await node.untilEvent(name, /^Error: /);
      const later = await node.until(name, isFailing);
      expect(conditionOf(later, type)).toEqual(conditionOf(pod, type));
    },
  );
});

describe("KEP-3815 Alternatives, field by field", () => {
  test.each([
    {
      name: "no-secret-volume",
      volume: { name: "secret-volume", secret: { secretName: "test-secret" } },
      event: 'MountVolume.SetUp failed for volume "secret-volume" : secret "test-secret" not found',
    },
    {
      name: "no-config-map-volume",
      volume: { name: "clusters-config-volume", configMap: { name: "clusters-config-file" } },
      event:
        'MountVolume.SetUp failed for volume "clusters-config-volume" : configmap "clusters-config-file" not found',
    },
  ])(
    "3815-6 $name is not failing to start: PodReadyToStartContainers covers it",
    async ({ name, volume, event }) => {
      const { node } = host;
      await node.run(name, {
        containers: [{ name: "c", image, volumeMounts: [{ name: volume.name, mountPath: "/v" }] }],
        volumes: [volume],
      });
      expect((await node.untilEvent(name, /MountVolume/)).message).toBe(event);
      const pod = await node.until(
        name,
        (it) => conditionOf(it, "PodReadyToStartContainers")?.reason === "FailedMount",
      );
      expect(pod.status?.phase).toBe("Pending");
      expect(pod.status?.containerStatuses?.[0]?.state).toEqual({ waiting: { reason: "ContainerCreating" } });
      expect(statuses(pod)).toEqual({
        ...stuckConditions,
        PodReadyToStartContainers: "False",
        FailingToStart: "False",
      });
      expect(await row(name)).toMatchObject({ ready: "0/1", status: "ContainerCreating" });
    },
  );

  test("3815-6 nor is a pod whose sandbox cannot be made", async () => {
    const { node, given } = host;
    given({ match: { pod: "no-sandbox" }, sandbox: { networkError: "no addresses left" } });
    await node.run("no-sandbox", { containers: [{ name: "c", image }] });
    const pod = await node.until(
      "no-sandbox",
      (it) => conditionOf(it, "PodReadyToStartContainers")?.reason === "FailedCreatePodSandBox",
    );
    expect(statuses(pod)).toEqual({
      ...stuckConditions,
      PodReadyToStartContainers: "False",
      FailingToStart: "False",
    });
  });
});

describe("KEP-3815 FailingToStart", () => {
  test("3815-4 what heals by itself never sets it: pulls that fail, back off and succeed", async () => {
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
      const seen = versions.map((pod) => conditionOf(pod, type)?.status).filter(Boolean);
      expect(new Set(seen)).toEqual(new Set(["False"]));
    }
  });

  test("3815-4 nor do a container that cannot be made or started, and a crash loop", async () => {
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

  test("3815-5 the config map is made, the key is added: the pod starts as it is and the condition turns False", async () => {
    const { node } = host;
    await makeConfigMap(node, "half", { other: "x" });
    await node.run("mended-map", {
      containers: [{ name: "c", image, env: fromConfigMap("late-map", "key") }],
    });
    await node.run("mended-key", { containers: [{ name: "c", image, env: fromConfigMap("half", "key") }] });
    const before = await Promise.all([
      node.until("mended-map", isFailing),
      node.until("mended-key", isFailing),
    ]);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await makeConfigMap(node, "late-map", { key: "x" });
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
      expect(statuses(pod)).toMatchObject({ Ready: "True", FailingToStart: "False" });
      const [was, is] = [conditionOf(stuck, type), conditionOf(pod, type)];
      expect(is?.reason).toBeUndefined();
      expect(Date.parse(is?.lastTransitionTime ?? "")).toBeGreaterThan(
        Date.parse(was?.lastTransitionTime ?? ""),
      );
    }
  });

  test("3815-5 the image of a running pod is corrected in place", async () => {
    const { node } = host;
    await node.run("mended-image", { containers: [{ name: "c", image: "NOT AN IMAGE" }] });
    const stuck = await node.until("mended-image", isFailing);
    await node.client.patch(
      "pods",
      { namespace: "default", name: "mended-image" },
      { patch: { kind: "strategic", body: { spec: { containers: [{ name: "c", image }] } } } },
    );
    const pod = await node.until("mended-image", isReady, 5_000);
    expect(pod.metadata.uid).toBe(stuck.metadata.uid);
    expect(conditionOf(pod, type)).toMatchObject({
      status: "False",
      observedGeneration: pod.metadata.generation,
    });
  });

  test("3815-7 an init container counts too", async () => {
    const { node } = host;
    await node.run("init-stuck", {
      initContainers: [{ name: "first", image, env: fromConfigMap("no-such-map", "key") }],
      containers: [{ name: "c", image }],
    });
    const pod = await node.until("init-stuck", isFailing);
    const message = 'configmap "no-such-map" not found';
    expect(conditionOf(pod, type)).toMatchObject({ reason: "CreateContainerConfigError", message });
    expect(pod.status?.initContainerStatuses?.[0]?.state).toEqual({
      waiting: { reason: "CreateContainerConfigError", message },
    });
    expect(waitingOf(pod)).toEqual({ reason: "PodInitializing" });
    expect(statuses(pod)).toMatchObject({ Initialized: "False", PodReadyToStartContainers: "True" });
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
      (it) => isFailing(it) && /unset/.test(conditionOf(it, type)?.message ?? ""),
    );
    expect(conditionOf(pod, type)).toMatchObject({
      reason: "InvalidImageName",
      message:
        'container misnamed: InvalidImageName: Failed to apply default image tag "BUSYBOX": couldn\'t parse image reference "BUSYBOX": invalid reference format: repository name must be lowercase; container unset: CreateContainerConfigError: configmap "nowhere" not found',
    });
    expect(pod.status?.containerStatuses?.[0]?.state?.running).toBeDefined();
    expect(pod.status?.phase).toBe("Pending");
  });

  test("3815-8 gate off: never written, and what an earlier kubelet wrote stays; on again, it is kept anew", async () => {
    const { node } = host;
    const containers = [{ name: "c", image: "BUSYBOX" }];
    await node.run("gated-before", { containers });
    const before = await node.until("gated-before", isFailing);
    await node.stop();
    await node.start({ features: { PodFailingToStartCondition: false } });
    const history = await node.follow("gated");
    await node.run("gated", { containers });
    const gated = await node.until("gated", (pod) => waitingOf(pod)?.reason === "InvalidImageName");
    expect(statuses(gated)).toEqual(stuckConditions);
    const kept = await node.until("gated-before", () => true);
    expect(conditionOf(kept, type)).toEqual(conditionOf(before, type));
    await node.stop();
    await history.stop();
    expect(history.versions.some((pod) => conditionOf(pod, type))).toBe(false);
    await node.start();
    expect(conditionOf(await node.until("gated", isFailing), type)?.reason).toBe("InvalidImageName");
  });
});

/** As kubectl's table has it. */
async function row(name: string): Promise<Record<string, unknown>> {
  const { server } = host.node;
  const answer = await server.call("GET", `/api/v1/namespaces/default/pods/${name}`, {
    headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
  });
  const { columnDefinitions, rows } = answer.json<{
    columnDefinitions: { name: string }[];
    rows: { cells: unknown[] }[];
  }>();
  return Object.fromEntries(
    columnDefinitions.map((column, i) => [column.name.toLowerCase(), rows[0]?.cells[i]]),
  );
}
