import { expect, test } from "vitest";
import { now, podOf, setOf } from "../workload.fixture.ts";
import { decideStatus } from "./decide-status.ts";

const labels = { app: "web", "pod-template-hash": "web-1" };
const terminating: never[] = [];

test("counts pods, ready ones and available ones, and knows when the next one is", () => {
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
    againAfterMs: 6_000,
  });
});

test("one that says so already is not written", () => {
  const set = setOf({ replicas: 1 });
  const active = [podOf({ readyFor: 9, labels })];
  const { status } = decideStatus({ set, active, terminating, now });
  expect(decideStatus({ set: { ...set, status }, active, terminating, now })).toEqual({});
});

test("says that pods cannot be made, once, until they can", () => {
  const set = setOf({ replicas: 2 });
  const failing = decideStatus({ set, active: [], terminating, failure: "no room", now });
  expect(failing.status?.conditions).toEqual([
    {
      type: "ReplicaFailure",
      status: "True",
      reason: "FailedCreate",
      message: "no room",
      lastTransitionTime: "2026-01-01T12:00:00Z",
    },
  ]);
  const later = { ...set, status: failing.status };
  expect(decideStatus({ set: later, active: [], terminating, failure: "still", now: now + 9e6 })).toEqual({});
  expect(decideStatus({ set: later, active: [], terminating, now }).status?.conditions).toEqual([]);
  const many = { set: setOf({ replicas: 0 }), active: [podOf()], terminating, failure: "no", now };
  expect(decideStatus(many).status?.conditions?.[0]?.reason).toBe("FailedDelete");
});
