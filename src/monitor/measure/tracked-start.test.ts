import { expect, test } from "vitest";
import {
  applyAll,
  describeSignal,
  ms,
  notYet,
  type PodSketch,
  type PodVersions,
  running,
  sketchPod,
} from "./start.fixture.ts";
import { decodeRecord, encodeRecord } from "./start-record.ts";
import { findStuck } from "./tracked-start.ts";

const sandboxed = { scheduled: "True 15:33:46", sandbox: "True 15:33:50", containers: [running("15:33:55")] };

const unavailableMs = () => 0;

const cases: readonly (readonly [string, PodSketch, string, string[]])[] = [
  ["not yet", { scheduled: "True 15:33:46" }, "15:34:46", []],
  [
    "in the sandbox stage, measured from scheduling",
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
  const { state } = applyAll([{}, sketch]);
  const facts = {
    pod: sketchPod(sketch),
    asOfMs: ms(time),
    seenMs: ms("15:33:46"),
    stuckAfterMs: 60_000,
    unavailableMs,
  };
  const { next, signals } = findStuck(state, facts);
  expect(signals.map(describeSignal)).toEqual(lines);
  expect(findStuck(next, facts).signals).toEqual([]);
});

test("measures from the first observation if the beginning is unknown", () => {
  const sketch = { scheduled: "True 15:33:46", sandbox: "True 15:33:50" };
  const { state } = applyAll([{}, "gap", sketch]);
  const facts = { pod: sketchPod(sketch), seenMs: ms("16:00:00"), stuckAfterMs: 60_000, unavailableMs };
  expect(findStuck(state, { ...facts, asOfMs: ms("16:01:00") }).signals).toEqual([]);
  expect(findStuck(state, { ...facts, asOfMs: ms("16:01:01") }).signals).toEqual([
    { kind: "stuck", stage: "containers" },
  ]);
});

test.each([
  ["the time for which the API server was away", notYet, "15:44:46", 600, []],
  ["more than that", notYet, "15:44:47", 600, ["stuck in sandbox"]],
])("3085-16 a pod is not stuck for %s", (_, sketch, time, awaySeconds, lines) => {
  const { state } = applyAll([{}, sketch]);
  const away = (fromMs: number, untilMs: number) =>
    fromMs === ms("15:33:46") && untilMs === ms(time) ? awaySeconds * 1_000 : Number.NaN;
  const facts = {
    pod: sketchPod(sketch),
    asOfMs: ms(time),
    seenMs: 0,
    stuckAfterMs: 60_000,
    unavailableMs: away,
  };
  expect(findStuck(state, facts).signals.map(describeSignal)).toEqual(lines);
});

const gated = { spec: { schedulingGates: [{ name: "quota" }] } };
test.each<[string, PodVersions, string, string[]]>([
  ["while it has them", [gated], "18:00:00", []],
  ["for the time it had them", [gated, { seen: "17:00:00" }], "17:01:00", []],
  ["but for the time after that", [gated, { seen: "17:00:00" }], "17:01:01", ["stuck in scheduling"]],
  ["nor for that, when they were removed in a gap", [gated, "gap", { seen: "17:00:00" }], "17:01:00", []],
])("3085-16 scheduling gates: a pod is not stuck %s", (_, versions, time, lines) => {
  const { state } = applyAll(versions);
  const stored = decodeRecord(encodeRecord(state)) ?? state;
  const facts = { pod: sketchPod({}), asOfMs: ms(time), seenMs: 0, stuckAfterMs: 60_000, unavailableMs };
  for (const each of [state, stored])
    expect(findStuck(each, facts).signals.map(describeSignal)).toEqual(lines);
});
