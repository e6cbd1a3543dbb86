import { expect, test } from "vitest";
import type { Pod, ReplicaSet } from "../../api/objects.ts";
import { now, podOf, setOf } from "../workload.fixture.ts";
import { decideReplicas } from "./decide-replicas.ts";

const pods = (count: number) =>
  Array.from({ length: count }, (_, i) => podOf({ name: `p${i}`, readyFor: 9 }));
const decide = (set: ReplicaSet, active: readonly Pod[]) =>
  decideReplicas({ set, active, related: () => active, now });

test.each([
  [3, 1, { kind: "create", count: 2 }],
  [3, 3, { kind: "keep" }],
  [0, 0, { kind: "keep" }],
  [2_000, 0, { kind: "create", count: 500 }],
])("for %i pods, with %i there", (replicas, there, expected) => {
  expect(decide(setOf({ replicas }), pods(there))).toEqual(expected);
});

test("those that are too many go, and never more than so many at once", () => {
  const some = decide(setOf({ replicas: 1 }), [podOf({ name: "broken" }), ...pods(1)]);
  expect(some).toMatchObject({ kind: "delete", pods: [{ metadata: { name: "broken" } }] });
  const many = decide(setOf({ replicas: 0 }), pods(700));
  expect(many.kind === "delete" && many.pods.length).toBe(500);
});

test("one that is being deleted touches nothing", () => {
  const set = setOf({ replicas: 3 });
  const going = { ...set, metadata: { ...set.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
  expect(decide(going, [])).toEqual({ kind: "keep" });
});
