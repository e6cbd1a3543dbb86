import { expect, test } from "vitest";
import type { Lease } from "../../api/objects.ts";
import { ago, now } from "../workload.fixture.ts";
import { decideHealth, isHeartbeat, isRenewal } from "./decide-health.ts";
import { nodeOf } from "./node.fixture.ts";

const timings = { graceMs: 40_000, startupGraceMs: 60_000, now };
const lease = (renewTime: string): Lease => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name: "n1" },
  spec: { renewTime },
});

test("a node that was heard of lately is fine", () => {
  const health = decideHealth(nodeOf({ ready: "True" }), { ...timings, heardAt: now - 30_000 });
  expect(health).toEqual({ kind: "heard", silentInMs: 10_000 });
});

test("of one that is silent nothing is known but what others watch", () => {
  const node = nodeOf({ ready: "True", conditions: { DiskPressure: "False", NetworkUnavailable: "False" } });
  const health = decideHealth(node, { ...timings, heardAt: now - 40_001 });
  const gone = {
    status: "Unknown",
    reason: "NodeStatusUnknown",
    message: "Kubelet stopped posting node status.",
    lastHeartbeatTime: ago(60),
    lastTransitionTime: ago(0),
  };
  const never = {
    status: "Unknown",
    reason: "NodeStatusNeverUpdated",
    message: "Kubelet never posted node status.",
    lastHeartbeatTime: ago(900),
    lastTransitionTime: ago(0),
  };
  expect(health).toEqual({
    kind: "silent",
    conditions: [
      { type: "Ready", ...gone },
      { type: "DiskPressure", ...gone },
      expect.objectContaining({ type: "NetworkUnavailable", status: "False" }),
      { type: "MemoryPressure", ...never },
      { type: "PIDPressure", ...never },
    ],
  });
});

test("one that says so already is not written", () => {
  const health = decideHealth(nodeOf({ ready: "Unknown" }), { ...timings, heardAt: now - 90_000 });
  expect(health).toEqual({ kind: "silent" });
});

test("one that is new has longer", () => {
  expect(decideHealth(nodeOf(), { ...timings, heardAt: now - 50_000 }).kind).toBe("heard");
  expect(decideHealth(nodeOf(), { ...timings, heardAt: now - 60_001 }).kind).toBe("silent");
});

test("only the kubelet's own word is a sign of life", () => {
  const node = nodeOf({ ready: "True" });
  expect(isHeartbeat(node, { ...node, spec: { unschedulable: true } })).toBe(false);
  const [ready] = node.status?.conditions ?? [];
  const later = { ...node, status: { conditions: ready ? [{ ...ready, lastHeartbeatTime: ago(0) }] : [] } };
  expect(isHeartbeat(node, later)).toBe(true);
});

test("a lease that is written anew without being renewed is none", () => {
  expect(isRenewal(undefined, lease(ago(1)))).toBe(true);
  expect(isRenewal(lease(ago(9)), lease(ago(1)))).toBe(true);
  expect(isRenewal(lease(ago(1)), lease(ago(1)))).toBe(false);
  expect(isRenewal(lease(ago(1)), lease(ago(3_600)))).toBe(true);
  expect(isRenewal(lease(ago(1)), { ...lease(""), spec: {} })).toBe(false);
});
