import { expect, test } from "vitest";
import { findStuck } from "./find-stuck.ts";
import { followAll, ms, type PodSketch, running, say, sketchPod } from "./start.fixture.ts";

const sandboxed = { scheduled: "True 15:33:46", sandbox: "True 15:33:50", containers: [running("15:33:55")] };

const cases: readonly (readonly [string, PodSketch, string, string[]])[] = [
  ["not yet", { scheduled: "True 15:33:46" }, "15:34:46", []],
  [
    "in the sandbox, counted from its scheduling",
    { scheduled: "True 15:33:46" },
    "15:34:47",
    ["stuck in sandbox"],
  ],
  ["without a node, counted from its creation", {}, "15:34:46", ["stuck in scheduling"]],
  ["until ready, counted from the last container", sandboxed, "15:34:56", ["stuck in readiness"]],
  ["held back on purpose", { spec: { schedulingGates: [{ name: "quota" }] } }, "16:00:00", []],
  ["ready", { ...sandboxed, ready: "True 15:33:58" }, "16:00:00", []],
  ["deleted", { scheduled: "True 15:33:46", deleted: "15:33:50" }, "16:00:00", []],
];

test.each(cases)("3085-12 a pod is stuck: %s", (_, sketch, time, lines) => {
  const { state } = followAll([{}, sketch]);
  const facts = { pod: sketchPod(sketch), now: ms(time), seenMs: ms("15:33:46"), stuckAfterMs: 60_000 };
  const { next, told } = findStuck(state, facts);
  expect(told.map(say)).toEqual(lines);
  expect(findStuck(next, facts).told).toEqual([]);
});

test("where the beginning is unknown, the time it was watched counts", () => {
  const sketch = { scheduled: "True 15:33:46", sandbox: "True 15:33:50" };
  const { state } = followAll([{}, "gap", sketch]);
  const facts = { pod: sketchPod(sketch), seenMs: ms("16:00:00"), stuckAfterMs: 60_000 };
  expect(findStuck(state, { ...facts, now: ms("16:01:00") }).told).toEqual([]);
  expect(findStuck(state, { ...facts, now: ms("16:01:01") }).told).toEqual([
    { kind: "stuck", stage: "containers" },
  ]);
});
