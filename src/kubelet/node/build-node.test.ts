import { expect, test } from "vitest";
import type { Image } from "../../cri/generated/cri.ts";
import { buildNode, buildNodeStatus } from "./build-node.ts";
import { answer, machine, nodeFacts, nodeOptions } from "./node.fixture.ts";

test("a node, ready from the start", () => {
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

test("what it is told: labels, taints, addresses", () => {
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

test("a runtime that has not answered yet", () => {
  const status = buildNodeStatus(nodeFacts({ runtime: undefined }));
  expect(status.nodeInfo?.containerRuntimeVersion).toBe("unknown://Unknown");
  expect(status).not.toHaveProperty("runtimeHandlers");
});

test("images: the 50 largest, five names of each, digests first", () => {
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

test("runtime handlers in one order, with what they can do", () => {
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
