import { expect, test } from "vitest";
import { factsOf, nodeOf, noSchedule, podOn, setOf } from "./daemon-set.fixture.ts";
import { decideStatus } from "./decide-status.ts";

const nodes = [nodeOf("a"), nodeOf("b"), nodeOf("c"), nodeOf("d", { taints: [noSchedule] })];
const pods = [podOn("a", "new", { readyFor: 30 }), podOn("b", "old", { readyFor: 4 }), podOn("d", "new")];
const synced = { isSynced: true, collisionCount: undefined };
const expected = {
  currentNumberScheduled: 2,
  desiredNumberScheduled: 3,
  numberMisscheduled: 1,
  numberReady: 2,
  updatedNumberScheduled: 1,
  numberAvailable: 1,
  numberUnavailable: 2,
  observedGeneration: 2,
};

test("counts nodes by the state of their pod, and waits for a ready pod to become available", () => {
  const facts = factsOf({ set: setOf({ minReadySeconds: 10 }), nodes, pods });
  expect(decideStatus(facts, synced)).toEqual({ status: expected, requeueAfterMs: 6_000 });
});

test("keeps observedGeneration while the set was not acted on", () => {
  const set = setOf();
  set.status = { ...expected, observedGeneration: 1 };
  const { status } = decideStatus(factsOf({ set, nodes, pods }), { ...synced, isSynced: false });
  expect(status).toMatchObject({ observedGeneration: 1, numberAvailable: 2 });
});

test("writes no status that is current", () => {
  const set = setOf();
  set.status = { ...expected, numberAvailable: 2, numberUnavailable: 1 };
  expect(decideStatus(factsOf({ set, nodes, pods }), synced)).toEqual({});
});

test("records hash collisions", () => {
  expect(decideStatus(factsOf({}), { ...synced, collisionCount: 2 }).status?.collisionCount).toBe(2);
});
