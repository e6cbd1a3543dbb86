import { expect, test } from "vitest";
import type { Pod, ReplicaSet } from "../../api/meta/objects.ts";
import { now, type PodParts, podOf, setOf } from "../shared/workload.fixture.ts";
import { decideReplicas, decideStatus, podsToDelete } from "./decide-replica-set.ts";

const pods = (count: number) =>
  Array.from({ length: count }, (_, i) => podOf({ name: `p${i}`, readyFor: 9 }));
const decide = (set: ReplicaSet, active: readonly Pod[]) =>
  decideReplicas({ set, active, related: () => active, now });

test.each([
  [3, 1, { kind: "create", count: 2 }],
  [3, 3, { kind: "keep" }],
  [0, 0, { kind: "keep" }],
  [2_000, 0, { kind: "create", count: 500 }],
])("for %i replicas and %i pods", (replicas, there, expected) => {
  expect(decide(setOf({ replicas }), pods(there))).toEqual(expected);
});

test("deletes surplus pods, at most one burst at a time", () => {
  const some = decide(setOf({ replicas: 1 }), [podOf({ name: "broken" }), ...pods(1)]);
  expect(some).toMatchObject({ kind: "delete", pods: [{ metadata: { name: "broken" } }] });
  const many = decide(setOf({ replicas: 0 }), pods(700));
  expect(many.kind === "delete" && many.pods.length).toBe(500);
});

test("changes nothing for a ReplicaSet that is being deleted", () => {
  const set = setOf({ replicas: 3 });
  const going = { ...set, metadata: { ...set.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
  expect(decide(going, [])).toEqual({ kind: "keep" });
});

const cost = (value: string) => ({ annotations: { "controller.kubernetes.io/pod-deletion-cost": value } });
const restarted = (restartCount: number) => ({
  status: { containerStatuses: [{ name: "c", image: "i", imageID: "", ready: true, restartCount }] },
});

const rules: [rule: string, first: PodParts, second: PodParts][] = [
  ["unscheduled before scheduled", { node: "", readyFor: 9 }, { phase: "Pending" }],
  ["pending before running", { phase: "Pending" }, { phase: "Running" }],
  ["unknown before running", { phase: "Unknown" }, { phase: "Running" }],
  ["not ready before ready", {}, { readyFor: 1_000 }],
  ["lower deletion cost first", { readyFor: 1_000, ...cost("-5") }, { readyFor: 10 }],
  [
    "an invalid deletion cost counts as 0",
    { readyFor: 10, ...cost("007") },
    { readyFor: 1_000, ...cost("1") },
  ],
  ["ready for a shorter time first", { readyFor: 10 }, { readyFor: 1_000 }],
  ["more restarts first", restarted(3), restarted(1)],
  ["younger first", { age: 10 }, { age: 10_000 }],
];

test.each(rules)("%s", (_, first, second) => {
  const [a, b] = [podOf({ name: "z", ...first }), podOf({ name: "b", ...second })];
  expect(podsToDelete([b, a], 1, { related: [], now })).toEqual([a]);
  expect(podsToDelete([a, b], 1, { related: [], now })).toEqual([a]);
});

test("pods on the node with the most related pods come first", () => {
  const [alone, first, second] = [
    podOf({ name: "alone", node: "n1", readyFor: 10 }),
    podOf({ name: "first", node: "n2", readyFor: 1_000 }),
    podOf({ name: "second", node: "n2", readyFor: 1_000 }),
  ];
  const chosen = podsToDelete([alone, first, second], 1, { related: [alone, first, second], now });
  expect(chosen[0]?.spec?.nodeName).toBe("n2");
});

test("ages of the same order of magnitude are equal, then the uid decides", () => {
  const [a, b] = [podOf({ name: "a", age: 1_000 }), podOf({ name: "b", age: 990 })];
  expect(podsToDelete([b, a], 1, { related: [], now })).toEqual([a]);
});

const labels = { app: "web", "pod-template-hash": "web-1" };
const terminating: never[] = [];

test("counts pods by readiness and availability and returns when the next becomes available", () => {
  const set = setOf({ minReadySeconds: 10 });
  const active = [podOf({ readyFor: 60, labels }), podOf({ readyFor: 4, labels }), podOf()];
  expect(decideStatus({ set, active, terminating: [podOf({ deleting: true })], now })).toEqual({
    status: {
      replicas: 3,
      fullyLabeledReplicas: 2,
      readyReplicas: 2,
      availableReplicas: 1,
      terminatingReplicas: 1,
      observedGeneration: 1,
      conditions: [],
    },
    requeueAfterMs: 6_000,
  });
});

test("does not write an unchanged status", () => {
  const set = setOf({ replicas: 1 });
  const active = [podOf({ readyFor: 9, labels })];
  const { status } = decideStatus({ set, active, terminating, now });
  expect(decideStatus({ set: { ...set, status }, active, terminating, now })).toEqual({});
});

test("reports ReplicaFailure with its first time until it is resolved", () => {
  const set = setOf({ replicas: 2 });
  const failing = decideStatus({ set, active: [], terminating, failure: "quota exceeded", now });
  expect(failing.status?.conditions).toEqual([
    {
      type: "ReplicaFailure",
      status: "True",
      reason: "FailedCreate",
      message: "quota exceeded",
      lastTransitionTime: "2026-01-01T12:00:00Z",
    },
  ]);
  const later = { ...set, status: failing.status };
  expect(decideStatus({ set: later, active: [], terminating, failure: "still", now: now + 9e6 })).toEqual({});
  expect(decideStatus({ set: later, active: [], terminating, now }).status?.conditions).toEqual([]);
  const many = { set: setOf({ replicas: 0 }), active: [podOf()], terminating, failure: "no", now };
  expect(decideStatus(many).status?.conditions?.[0]?.reason).toBe("FailedDelete");
});
