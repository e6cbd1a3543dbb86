import { expect, test } from "vitest";
import type { Lease } from "../../api/meta/objects.ts";
import type { Taint } from "../../api/pod/node-matcher.ts";
import { ago, now } from "../shared/workload.fixture.ts";
import {
  awaitsEviction,
  decideHealth,
  decideTaints,
  type EvictionMode,
  isHeartbeat,
  isRenewal,
} from "./decide-node.ts";
import { nodeOf } from "./node.fixture.ts";

const timings = { graceMs: 40_000, startupGraceMs: 60_000, now };
const lease = (renewTime: string): Lease => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name: "n1" },
  spec: { renewTime },
});

test("a node that was seen within the grace period is healthy", () => {
  const health = decideHealth(nodeOf({ ready: "True" }), { ...timings, lastSeenAt: now - 30_000 });
  expect(health).toEqual({ kind: "healthy", silentInMs: 10_000 });
});

test("sets the kubelet's conditions of a silent node to Unknown and keeps the others", () => {
  const node = nodeOf({ ready: "True", conditions: { DiskPressure: "False", NetworkUnavailable: "False" } });
  const health = decideHealth(node, { ...timings, lastSeenAt: now - 40_001 });
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

test("does not write conditions that are Unknown already", () => {
  const health = decideHealth(nodeOf({ ready: "Unknown" }), { ...timings, lastSeenAt: now - 90_000 });
  expect(health).toEqual({ kind: "silent" });
});

test("a new node has a longer grace period", () => {
  expect(decideHealth(nodeOf(), { ...timings, lastSeenAt: now - 50_000 }).kind).toBe("healthy");
  expect(decideHealth(nodeOf(), { ...timings, lastSeenAt: now - 60_001 }).kind).toBe("silent");
});

test("counts only changes of the kubelet's own heartbeat", () => {
  const node = nodeOf({ ready: "True" });
  expect(isHeartbeat(node, { ...node, spec: { unschedulable: true } })).toBe(false);
  const [ready] = node.status?.conditions ?? [];
  const later = { ...node, status: { conditions: ready ? [{ ...ready, lastHeartbeatTime: ago(0) }] : [] } };
  expect(isHeartbeat(node, later)).toBe(true);
});

test("does not count a lease that was written without being renewed", () => {
  expect(isRenewal(undefined, lease(ago(1)))).toBe(true);
  expect(isRenewal(lease(ago(9)), lease(ago(1)))).toBe(true);
  expect(isRenewal(lease(ago(1)), lease(ago(1)))).toBe(false);
  expect(isRenewal(lease(ago(1)), lease(ago(3_600)))).toBe(true);
  expect(isRenewal(lease(ago(1)), { ...lease(""), spec: {} })).toBe(false);
});

const taint = (key: string, effect: string): Taint => ({ key: `node.kubernetes.io/${key}`, effect });
const custom: Taint = { key: "dedicated", value: "db", effect: "NoExecute" };
type Row = [
  what: string,
  node: Parameters<typeof nodeOf>[0],
  leave: EvictionMode,
  taints: string[] | undefined,
];

const rows: Row[] = [
  ["ready", { ready: "True" }, "hold", undefined],
  ["not ready", { ready: "False" }, "hold", ["not-ready:NoSchedule"]],
  ["not ready and evicted", { ready: "False" }, "evict", ["not-ready:NoSchedule", "not-ready:NoExecute"]],
  [
    "unreachable and evicted",
    { ready: "Unknown" },
    "evict",
    ["unreachable:NoSchedule", "unreachable:NoExecute"],
  ],
  [
    "replaces one eviction taint with the other in one write",
    { ready: "Unknown", taints: [taint("not-ready", "NoSchedule"), taint("not-ready", "NoExecute")] },
    "hold",
    ["unreachable:NoSchedule", "unreachable:NoExecute"],
  ],
  [
    "ready again",
    {
      ready: "True",
      taints: [taint("unreachable", "NoSchedule"), custom, taint("unreachable", "NoExecute")],
    },
    "hold",
    ["dedicated:NoExecute"],
  ],
  [
    "removes the eviction taint when no node is ready",
    { ready: "Unknown", taints: [taint("unreachable", "NoSchedule"), taint("unreachable", "NoExecute")] },
    "cancel",
    ["unreachable:NoSchedule"],
  ],
  [
    "under pressure and cordoned",
    { ready: "True", unschedulable: true, conditions: { MemoryPressure: "True", DiskPressure: "False" } },
    "hold",
    ["memory-pressure:NoSchedule", "unschedulable:NoSchedule"],
  ],
  ["uncordoned", { ready: "True", taints: [taint("unschedulable", "NoSchedule")] }, "hold", []],
  ["without a Ready condition", {}, "evict", undefined],
  ["up to date", { ready: "False", taints: [taint("not-ready", "NoSchedule")] }, "hold", undefined],
];

test.each(rows)("%s", (_, parts, eviction, expected) => {
  const taints = decideTaints(nodeOf(parts), { eviction, now });
  const shown = taints?.map(({ key, effect }) => `${key.replace("node.kubernetes.io/", "")}:${effect}`);
  expect(shown).toEqual(expected);
});

test("sets timeAdded and keeps it", () => {
  const before = { ...taint("not-ready", "NoExecute"), timeAdded: ago(50) };
  const taints = decideTaints(nodeOf({ ready: "False", taints: [before] }), { eviction: "hold", now });
  expect(taints).toEqual([before, { ...taint("not-ready", "NoSchedule"), timeAdded: ago(0) }]);
});

test("awaits eviction only while it has no eviction taint", () => {
  expect(awaitsEviction(nodeOf({ ready: "True" }))).toBe(false);
  expect(awaitsEviction(nodeOf({ ready: "Unknown" }))).toBe(true);
  expect(awaitsEviction(nodeOf({ ready: "Unknown", taints: [taint("not-ready", "NoExecute")] }))).toBe(false);
});
