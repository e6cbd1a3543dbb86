import { describe, expect, test } from "vitest";
import type { NodeStatus } from "../../api/meta/objects.ts";
import { applyStrategicMergePatch } from "../../api/patch/strategic-merge-patch.ts";
import { builtInSchema } from "../../api/schema/built-in-schema.ts";
import type { Image } from "../../cri/generated/cri.ts";
import {
  buildNode,
  buildNodeStatus,
  hasNodeChanged,
  heartbeatPatch,
  registrationPatch,
} from "./build-node.ts";
import { answer, machine, networkDown, nodeFacts, nodeOptions, now } from "./node.fixture.ts";

test("builds a node that is ready from the start", () => {
  const time = "2022-12-06T15:33:47Z";
  const times = { lastHeartbeatTime: time, lastTransitionTime: time };
  const resources = { cpu: "2", memory: "8Gi", pods: "110", "ephemeral-storage": "100Gi" };
  expect(buildNode(nodeFacts())).toEqual({
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: "node-1",
      labels: {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": "node-1",
        "kubernetes.io/os": "linux",
      },
      annotations: { "volumes.kubernetes.io/controller-managed-attach-detach": "true" },
    },
    spec: {},
    status: {
      capacity: resources,
      allocatable: resources,
      addresses: [
        { type: "InternalIP", address: "192.168.0.7" },
        { type: "Hostname", address: "node-1" },
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: 10_250 } },
      nodeInfo: {
        architecture: "amd64",
        bootID: "boot-1",
        containerRuntimeVersion: "kindling://0.1.0",
        kernelVersion: "6.1.0",
        kubeProxyVersion: "",
        kubeletVersion: "v1.36.0",
        machineID: "m1",
        operatingSystem: "linux",
        osImage: "Debian GNU/Linux 12 (bookworm)",
        systemUUID: "s1",
      },
      runtimeHandlers: [],
      conditions: [
        {
          type: "MemoryPressure",
          status: "False",
          reason: "KubeletHasSufficientMemory",
          message: "kubelet has sufficient memory available",
          ...times,
        },
        {
          type: "DiskPressure",
          status: "False",
          reason: "KubeletHasNoDiskPressure",
          message: "kubelet has no disk pressure",
          ...times,
        },
        {
          type: "PIDPressure",
          status: "False",
          reason: "KubeletHasSufficientPID",
          message: "kubelet has sufficient PID available",
          ...times,
        },
        {
          type: "Ready",
          status: "True",
          reason: "KubeletReady",
          message: "kubelet is posting ready status",
          ...times,
        },
      ],
    },
  });
});

test("uses configured labels, taints and addresses", () => {
  const node = buildNode(
    nodeFacts({
      options: {
        ...nodeOptions,
        labels: { zone: "a", "kubernetes.io/hostname": "mine" },
        taints: [{ key: "dedicated", effect: "NoSchedule" }],
        nodeIps: ["10.1.0.1", "fd00::1"],
      },
      machine: { ...machine, swapBytes: 1_024 },
    }),
  );
  expect(node.metadata.labels).toMatchObject({ zone: "a", "kubernetes.io/hostname": "mine" });
  expect(node.spec?.taints).toEqual([{ key: "dedicated", effect: "NoSchedule" }]);
  expect(node.status).toMatchObject({
    addresses: [
      { type: "InternalIP", address: "10.1.0.1" },
      { type: "InternalIP", address: "fd00::1" },
      { type: "Hostname", address: "node-1" },
    ],
    allocatable: node.status?.capacity,
    nodeInfo: { swap: { capacity: 1_024 } },
  });
});

test("builds a status before the runtime has responded", () => {
  const status = buildNodeStatus(nodeFacts({ runtime: undefined }));
  expect(status.nodeInfo?.containerRuntimeVersion).toBe("unknown://Unknown");
  expect(status).not.toHaveProperty("runtimeHandlers");
});

test("lists the 50 largest images with five names each, digests first", () => {
  const image = (id: number, repoTags: string[] = []): Image => ({
    id: `sha256:${id}`,
    repoTags,
    repoDigests: [`r@sha256:${id}`],
    size: BigInt(id),
    uid: undefined,
    username: "",
    spec: undefined,
    pinned: false,
  });
  const images = Array.from({ length: 60 }, (_, i) => image(i));
  images.push(image(1_000, ["a", "b", "c", "d", "e"]));
  const shown = buildNodeStatus(nodeFacts({ images })).images;
  expect(shown).toHaveLength(50);
  expect(shown?.[0]).toEqual({ names: ["r@sha256:1000", "a", "b", "c", "d"], sizeBytes: 1_000 });
  expect(shown?.[1]).toEqual({ names: ["r@sha256:59"], sizeBytes: 59 });
});

test("lists runtime handlers in a fixed order with their features", () => {
  const runtime = answer();
  const status = {
    ...runtime.status,
    runtimeHandlers: [
      { name: "runc", features: { recursiveReadOnlyMounts: true, userNamespaces: false } },
      { name: "", features: undefined },
    ],
    features: { supplementalGroupsPolicy: true, userNamespacesHostNetwork: false, mountOptions: false },
  };
  expect(buildNodeStatus(nodeFacts({ runtime: { ...runtime, status } }))).toMatchObject({
    features: { supplementalGroupsPolicy: true },
    runtimeHandlers: [
      { name: "", features: { recursiveReadOnlyMounts: false, userNamespaces: false } },
      { name: "runc", features: { recursiveReadOnlyMounts: true, userNamespaces: false } },
    ],
  });
});

const status = buildNodeStatus(nodeFacts());
const later = nodeFacts({ previous: status, now: now + 10_000 });

describe("hasNodeChanged", () => {
  test("ignores heartbeat times", () => {
    expect(hasNodeChanged(buildNodeStatus(later), status)).toBe(false);
  });

  test.each<[string, Partial<typeof later>]>([
    ["readiness", { runtime: answer(networkDown) }],
    ["an address", { machine: { ...machine, addresses: ["192.168.0.8"] } }],
    ["memory", { machine: { ...machine, memoryBytes: 2 ** 30 } }],
    ["the boot", { machine: { ...machine, bootId: "boot-2" } }],
    ["images", { images: [{ ...image, size: 1n }] }],
  ])("%s", (_, facts) => {
    expect(hasNodeChanged(buildNodeStatus({ ...later, ...facts }), status)).toBe(true);
  });

  test("ignores additions of other components", () => {
    const more: NodeStatus = {
      ...status,
      capacity: { ...status.capacity, "example.com/gpu": "2" },
      conditions: [...(status.conditions ?? []), { type: "NetworkUnavailable", status: "False" }],
    };
    expect(hasNodeChanged(buildNodeStatus({ ...later, previous: more }), more)).toBe(false);
  });
});

test("the patch updates the status and keeps values of other components", () => {
  const has = plain({ ...status, conditions: [{ type: "NetworkUnavailable", status: "False" }] });
  const want = buildNodeStatus(
    nodeFacts({ options: { ...nodeOptions, nodeIps: ["10.1.0.1", "fd00::1"] }, now: now + 10_000 }),
  );
  const patched = applyStrategicMergePatch(
    builtInSchema,
    "core.v1.NodeStatus",
    has,
    plain(heartbeatPatch(want, has)),
  );
  expect(patched.addresses).toEqual(want.addresses);
  expect(patched.conditions).toHaveLength(5);
  expect(patched.conditions).toEqual(
    expect.arrayContaining([{ type: "NetworkUnavailable", status: "False" }, ...(want.conditions ?? [])]),
  );
});

describe("a node that was registered before", () => {
  const node = buildNode(nodeFacts());

  test("needs no patch if nothing changed", () => {
    expect(registrationPatch(buildNode(later), node)).toBeUndefined();
  });

  test("restores the labels of the machine and keeps others", () => {
    const want = buildNode(nodeFacts({ ...later, options: { ...nodeOptions, labels: { zone: "a" } } }));
    const labels = { ...node.metadata.labels, "kubernetes.io/arch": "arm64", zone: "b", mine: "yes" };
    const has = { ...node, metadata: { ...node.metadata, labels, annotations: {} } };
    expect(registrationPatch(want, has)).toEqual({
      metadata: {
        labels: { "kubernetes.io/arch": "amd64" },
        annotations: { "volumes.kubernetes.io/controller-managed-attach-detach": "true" },
      },
    });
  });
});

const image = {
  id: "1",
  repoTags: [],
  repoDigests: [],
  uid: undefined,
  username: "",
  spec: undefined,
  pinned: false,
};

function plain(value: unknown) {
  return JSON.parse(JSON.stringify(value));
}
