import { describe, expect, test } from "vitest";
import type { PodCondition } from "../api/objects.ts";
import { failedCondition, shortenNote } from "./pod-condition.ts";
import { makePod } from "./scheduling.fixture.ts";

const now = Date.parse("2026-02-03T04:05:06.789Z");
const failure = { reason: "Unschedulable", message: "0/1 nodes" } as const;
const before: PodCondition = {
  type: "PodScheduled",
  status: "False",
  reason: "Unschedulable",
  message: "0/1 nodes",
  lastTransitionTime: "2026-01-01T00:00:00Z",
};
const podWith = (...conditions: PodCondition[]) => makePod({ status: { conditions } });

describe("the condition that a pod has no node", () => {
  test("is new", () => {
    expect(failedCondition(makePod({ metadata: { generation: 3 } }), failure, now)).toEqual({
      type: "PodScheduled",
      status: "False",
      reason: "Unschedulable",
      message: "0/1 nodes",
      observedGeneration: 3,
      lastTransitionTime: "2026-02-03T04:05:06Z",
    });
  });
  test("is not written again when it is the same", () => {
    expect(failedCondition(podWith(before), failure, now)).toBeUndefined();
  });
  test("keeps its time when only the text changes", () => {
    const changed = failedCondition(podWith({ ...before, message: "0/2 nodes" }), failure, now);
    expect(changed).toMatchObject({ message: "0/1 nodes", lastTransitionTime: "2026-01-01T00:00:00Z" });
  });
});

test("a note is cut at the length that events may have", () => {
  expect(shortenNote("x".repeat(1_024))).toHaveLength(1_024);
  expect(shortenNote("x".repeat(1_025))).toBe(`${"x".repeat(1_020)} ...`);
});
