import { expect, test } from "vitest";
import type { Taint, Toleration } from "../../api/tolerates-taint.ts";
import { ago, now, podOf } from "../workload.fixture.ts";
import { decideEviction } from "./decide-eviction.ts";

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
  ["tolerated for good", [taint("a")], [tolerate("a")], { kind: "stay" }],
  ["tolerated for no time", [taint("a")], [tolerate("a", 0)], { kind: "evict" }],
  [
    "tolerated for a while",
    [taint("a", ago(20))],
    [tolerate("a", 300)],
    { kind: "wait", againAfterMs: 280_000 },
  ],
  ["tolerated for long enough", [taint("a", ago(300))], [tolerate("a", 300)], { kind: "evict" }],
  ["since it was seen", [taint("a")], [tolerate("a", 300)], { kind: "wait", againAfterMs: 290_000 }],
  [
    "the shortest counts",
    [taint("a", ago(0)), taint("b", ago(0))],
    [tolerate("a", 300), tolerate("b", 60)],
    { kind: "wait", againAfterMs: 60_000 },
  ],
  ["one of two is not tolerated", [taint("a"), taint("b")], [tolerate("a")], { kind: "evict" }],
];

test.each(rows)("%s", (_, taints, tolerations, expected) => {
  const pod = podOf({ spec: { tolerations } });
  expect(decideEviction(pod, { taints, seenAt: now - 10_000, now })).toEqual(expected);
});

test("a pod that came later has its time from then on", () => {
  const scheduled = { type: "PodScheduled", status: "True", lastTransitionTime: ago(30) };
  const pod = podOf({ spec: { tolerations: [tolerate("a", 300)] }, status: { conditions: [scheduled] } });
  const facts = { taints: [taint("a", ago(9_000))], seenAt: 0, now };
  expect(decideEviction(pod, facts)).toEqual({ kind: "wait", againAfterMs: 270_000 });
});

test("one that goes already is left alone", () => {
  expect(decideEviction(podOf({ deleting: true }), { taints: [taint("a")], seenAt: 0, now })).toEqual({
    kind: "stay",
  });
});
