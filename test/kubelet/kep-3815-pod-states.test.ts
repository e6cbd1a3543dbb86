import { describe, expect, test } from "vitest";
import { conditionOf } from "../../src/api/meta/object-facts.ts";
import {
  createConfigMap,
  failingToStart,
  fromConfigMap,
  isFailing,
  statusesOf,
  stuckConditions,
} from "../support/node/failing-to-start.ts";
import { useSimulatedNode } from "../support/node/simulated-node.ts";

const image = "web:1";
const host = useSimulatedNode();

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
      if (name === "no-key") await createConfigMap(node, "special-config", { "special.type": "charm" });
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
      expect(statusesOf(pod)).toEqual({ ...stuckConditions, FailingToStart: "True" });
      expect(conditionOf(pod, failingToStart)).toMatchObject({ status: "True", reason, message });
      expect(conditionOf(pod, failingToStart)?.lastProbeTime ?? null).toBeNull();
      expect(await row(name)).toMatchObject({ ready: "0/1", status: reason });
      // However often it is tried again, it has been so since then.
      await node.untilEvent(name, /^Error: /);
      const later = await node.until(name, isFailing);
      expect(conditionOf(later, failingToStart)).toEqual(conditionOf(pod, failingToStart));
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
      expect(statusesOf(pod)).toEqual({
        ...stuckConditions,
        PodReadyToStartContainers: "False",
        FailingToStart: "False",
      });
      expect(await row(name)).toMatchObject({ ready: "0/1", status: "ContainerCreating" });
    },
  );

  test("3815-6 a pod whose sandbox cannot be created is not failing to start", async () => {
    const { node, given } = host;
    given({ match: { pod: "no-sandbox" }, sandbox: { networkError: "no addresses left" } });
    await node.run("no-sandbox", { containers: [{ name: "c", image }] });
    const pod = await node.until(
      "no-sandbox",
      (it) => conditionOf(it, "PodReadyToStartContainers")?.reason === "FailedCreatePodSandBox",
    );
    expect(statusesOf(pod)).toEqual({
      ...stuckConditions,
      PodReadyToStartContainers: "False",
      FailingToStart: "False",
    });
  });
});

/** Status as in kubectl's table. */
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
