import { describe, expect, test } from "vitest";
import type { Pod } from "../api/meta/objects.ts";
import { observePods } from "./observe-pods.ts";

const pod = (
  uid: string,
  address: string | undefined,
  more: Partial<Pod["spec"] & Pod["status"]> = {},
): Pod =>
  ({
    metadata: {
      name: uid,
      namespace: "ns",
      uid,
      labels: { app: uid },
      creationTimestamp: `2026-01-01T00:00:0${uid.length}Z`,
    },
    spec: { nodeName: "here", containers: [], ...more },
    status: { phase: "Running", ...(address && { podIPs: [{ ip: address }] }), ...more },
  }) as unknown as Pod;
const attached = (...pods: readonly (readonly [Pod, string])[]) =>
  new Map(pods.map(([each, address]) => [each.metadata.uid ?? "", { pod: each, addresses: [address] }]));
const owners = (pods: readonly Pod[], known = attached()) =>
  observePods(pods, known, "here").map(({ labels, addresses }) =>
    `${labels?.app} ${addresses.join(" ")}`.trim(),
  );

describe("the owner of an address", () => {
  test.each<[string, string[], Pod[], ReturnType<typeof attached>]>([
    ["is the pod that has it in its status", ["a 10.0.0.1"], [pod("a", "10.0.0.1")], attached()],
    [
      "is the pod that the kubelet attached, before its status has the address",
      ["a 10.0.0.1"],
      [pod("a", undefined)],
      attached([pod("a", undefined), "10.0.0.1"]),
    ],
    [
      "is a pod that the API server has not shown yet",
      ["a 10.0.0.1"],
      [],
      attached([pod("a", undefined), "10.0.0.1"]),
    ],
    [
      "is the attached pod, although another still has the address in its status",
      ["bb", "a 10.0.0.1"],
      [pod("a", undefined), pod("bb", "10.0.0.1")],
      attached([pod("a", undefined), "10.0.0.1"]),
    ],
    [
      "is the younger of two pods",
      ["a", "bb 10.0.0.1"],
      [pod("bb", "10.0.0.1"), pod("a", "10.0.0.1")],
      attached(),
    ],
    ["is not a pod that has ended", [], [pod("a", "10.0.0.1", { phase: "Succeeded" })], attached()],
    [
      "is not a pod in the network of its node",
      [],
      [pod("a", "10.0.0.1", { hostNetwork: true })],
      attached(),
    ],
    ["has the canonical form", ["a fd00::1"], [pod("a", "fd00:0::0001")], attached()],
    ["is undefined for text that is not an address", ["a"], [pod("a", "10.0.0.1 } drop")], attached()],
  ])("%s", (_, expected, pods, known) => expect(owners(pods, known)).toEqual(expected));
});

test("the labels of an attached pod are those of the API server", () => {
  const changed = {
    ...pod("a", undefined),
    metadata: { ...pod("a", undefined).metadata, labels: { app: "new" } },
  };
  expect(owners([changed], attached([pod("a", undefined), "10.0.0.1"]))).toEqual(["new 10.0.0.1"]);
});

test("named ports are those of containers and sidecars", () => {
  const withPorts = pod("a", "10.0.0.1", {
    containers: [
      { name: "c", ports: [{ name: "web", containerPort: 80, protocol: "TCP" }, { containerPort: 81 }] },
    ],
    initContainers: [
      { name: "i", ports: [{ name: "once", containerPort: 1 }] },
      { name: "s", restartPolicy: "Always", ports: [{ name: "side", containerPort: 2, protocol: "UDP" }] },
    ],
  });
  expect(observePods([withPorts], attached(), "there")).toMatchObject([
    {
      isLocal: false,
      ports: [
        { name: "side", protocol: "UDP", port: 2 },
        { name: "web", protocol: "TCP", port: 80 },
      ],
    },
  ]);
});
