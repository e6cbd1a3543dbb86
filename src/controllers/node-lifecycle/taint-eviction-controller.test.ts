import { expect, test } from "vitest";
import type { Taint, Toleration } from "../../api/pod/node-matcher.ts";
import { ago, now, podOf } from "../shared/workload.fixture.ts";
import { decideEviction } from "./taint-eviction-controller.ts";

const taint = (key: string, timeAdded?: string): Taint => ({ key, effect: "NoExecute", timeAdded });
const tolerate = (key: string, tolerationSeconds?: number): Toleration => ({
  key,
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds,
});
type Row = [what: string, taints: Taint[], tolerations: Toleration[], expected: object];

const rows: Row[] = [
  ["no taints", [], [], { kind: "stay" }],
  ["not tolerated", [taint("a")], [], { kind: "evict" }],
  ["tolerated forever", [taint("a")], [tolerate("a")], { kind: "stay" }],
  ["tolerated for 0 seconds", [taint("a")], [tolerate("a", 0)], { kind: "evict" }],
  [
    "tolerated for a limited time",
    [taint("a", ago(20))],
    [tolerate("a", 300)],
    { kind: "wait", requeueAfterMs: 280_000 },
  ],
  ["toleration expired", [taint("a", ago(300))], [tolerate("a", 300)], { kind: "evict" }],
  [
    "taint without timeAdded counts from when it was observed",
    [taint("a")],
    [tolerate("a", 300)],
    { kind: "wait", requeueAfterMs: 290_000 },
  ],
  [
    "the shortest toleration applies",
    [taint("a", ago(0)), taint("b", ago(0))],
    [tolerate("a", 300), tolerate("b", 60)],
    { kind: "wait", requeueAfterMs: 60_000 },
  ],
  ["one of two is not tolerated", [taint("a"), taint("b")], [tolerate("a")], { kind: "evict" }],
];

test.each(rows)("%s", (_, taints, tolerations, expected) => {
  const pod = podOf({ spec: { tolerations } });
  expect(decideEviction(pod, { taints, seenAt: now - 10_000, now })).toEqual(expected);
});

test("counts tolerationSeconds from when the pod was scheduled, if that is later", () => {
  const scheduled = { type: "PodScheduled", status: "True", lastTransitionTime: ago(30) };
  const pod = podOf({ spec: { tolerations: [tolerate("a", 300)] }, status: { conditions: [scheduled] } });
  const facts = { taints: [taint("a", ago(9_000))], seenAt: 0, now };
  expect(decideEviction(pod, facts)).toEqual({ kind: "wait", requeueAfterMs: 270_000 });
});

test("ignores a pod that is being deleted", () => {
  expect(decideEviction(podOf({ deleting: true }), { taints: [taint("a")], seenAt: 0, now })).toEqual({
    kind: "stay",
  });
});
