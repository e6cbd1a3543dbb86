import { describe, expect, test } from "vitest";
import type { NodeStatus } from "../../api/objects.ts";
import { applyStrategicMergePatch } from "../../api/patch/strategic-merge-patch.ts";
import { buildNode, buildNodeStatus } from "./build-node.ts";
import { answer, machine, networkDown, nodeFacts, nodeOptions, now } from "./node.fixture.ts";
import { hasNodeChanged, heartbeatPatch, registrationPatch } from "./node-patch.ts";

const status = buildNodeStatus(nodeFacts());
const later = nodeFacts({ previous: status, now: now + 10_000 });

describe("what changed", () => {
  test("only the heartbeat: nothing", () => {
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

  test("what others added does not count", () => {
    const more: NodeStatus = {
      ...status,
      capacity: { ...status.capacity, "example.com/gpu": "2" },
      conditions: [...(status.conditions ?? []), { type: "NetworkUnavailable", status: "False" }],
    };
    expect(hasNodeChanged(buildNodeStatus({ ...later, previous: more }), more)).toBe(false);
  });
});

test("a patch makes of the old status the new one, and leaves what others wrote", () => {
  const has = plain({ ...status, conditions: [{ type: "NetworkUnavailable", status: "False" }] });
  const want = buildNodeStatus(
    nodeFacts({ options: { ...nodeOptions, nodeIps: ["10.1.0.1", "fd00::1"] }, now: now + 10_000 }),
  );
  const patched = applyStrategicMergePatch("core.v1.NodeStatus", has, plain(heartbeatPatch(want, has)));
  expect(patched.addresses).toEqual(want.addresses);
  expect(patched.conditions).toHaveLength(5);
  expect(patched.conditions).toEqual(
    expect.arrayContaining([{ type: "NetworkUnavailable", status: "False" }, ...(want.conditions ?? [])]),
  );
});

describe("a node that was registered before", () => {
  const node = buildNode(nodeFacts());

  test("is as it should be", () => {
    expect(registrationPatch(buildNode(later), node)).toBeUndefined();
  });

  test("gets the labels of its machine back; those of others stay", () => {
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
