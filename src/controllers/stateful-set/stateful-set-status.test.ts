import { describe, expect, test } from "vitest";
import { StatusError } from "../../api/status-error.ts";
import { before, makePod, makeSet, now } from "./stateful-set.fixture.ts";
import type { PodAction } from "./stateful-set-facts.ts";
import { statusAfter, statusToWrite, withCondition } from "./stateful-set-status.ts";

const status = { replicas: 3, currentReplicas: 2, currentRevision: "old", conditions: [] };
const rolled = (line: string): PodAction => ({
  kind: "deletePod",
  pod: makePod(makeSet(), line),
  why: "updated",
});

describe("after what was done", () => {
  test("pods of the current revision that were replaced do not count any more", () => {
    const done = new Set([rolled("2 old ready"), rolled("1 third ready")]);
    expect(statusAfter(status, { done, now }).currentReplicas).toBe(1);
  });

  test.each([
    [
      new StatusError(403, "Forbidden", "exceeded quota"),
      [{ status: "False", reason: "Forbidden", message: "exceeded quota" }],
    ],
    [new StatusError(409, "Conflict", "look again"), []],
    [new Error("the connection is gone"), []],
  ])("%s is told in the condition, or not", (failure, conditions) => {
    expect(statusAfter(status, { done: new Set(), failure, now }).conditions).toMatchObject(conditions);
  });
});

test("a condition's time moves with its status only", () => {
  const condition = { type: "Progressing", status: "True", reason: "A", message: "a" };
  const first = withCondition(status, condition, Date.parse(before));
  expect(withCondition(first, { ...condition, reason: "B" }, now).conditions).toEqual([
    { ...condition, reason: "B", lastTransitionTime: before },
  ]);
  expect(
    withCondition(first, { ...condition, status: "False" }, now).conditions?.[0]?.lastTransitionTime,
  ).toBe("2026-01-01T00:10:00Z");
});

describe("what is written", () => {
  const set = { ...makeSet(), status: { ...status, observedGeneration: 5 } };

  test("nothing when it is there already", () => {
    expect(statusToWrite(set, { ...status, observedGeneration: 5, readyReplicas: 0 })).toBeUndefined();
  });

  test("not an older generation, and no zeroes where upstream has none", () => {
    expect(statusToWrite(set, { ...status, currentReplicas: 0, observedGeneration: 4 })).toEqual({
      replicas: 3,
      currentRevision: "old",
      conditions: [],
      observedGeneration: 5,
    });
  });
});
