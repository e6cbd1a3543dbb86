import { expect, test } from "vitest";
import type { StartSignal } from "../measure/start-signal.ts";
import { podStart } from "../metrics/pod-start.fixture.ts";
import { createWindowedCounts, evaluateSignal, isOverdue, rankBreaches } from "./evaluate-objective.ts";
import type { LatencyObjective, Measure, ObjectiveSelector, SuccessObjective } from "./objective.ts";

const start = podStart({
  class: { runtimeClass: "kata", storageClasses: ["fast", "slow"], chosen: { team: "db" } },
});
const always = () => 0;
const base = { name: "a", target: 0.99, windowMs: 3_600_000, selector: {} };
const latency = (measure: Measure, selector: ObjectiveSelector = {}): LatencyObjective => ({
  ...base,
  kind: "latency",
  measure,
  thresholdMs: 10_000,
  selector,
});
const success = (measure: SuccessObjective["measure"]): SuccessObjective => ({
  ...base,
  kind: "success",
  measure,
  deadlineMs: 60_000,
});

test.each<[Measure, StartSignal, "good" | "bad" | undefined]>([
  ["start", { kind: "ready", start, seconds: 10, endedMs: 0 }, "good"],
  ["start", { kind: "ready", start, seconds: 10.001, endedMs: 0 }, "bad"],
  ["start", { kind: "stage", start, stage: "sandbox", seconds: 1, endedMs: 0 }, undefined],
  ["sandbox", { kind: "stage", start, stage: "sandbox", seconds: 1, endedMs: 0 }, "good"],
  ["sandbox", { kind: "stage", start, stage: "init", seconds: 1, endedMs: 0 }, undefined],
  ["first-sandbox", { kind: "sandbox", start, first: true, seconds: 11, endedMs: 0 }, "bad"],
  ["first-sandbox", { kind: "sandbox", start, first: false, seconds: 11, endedMs: 0 }, undefined],
  ["recreation", { kind: "sandbox", start, first: false, seconds: 1, endedMs: 0 }, "good"],
  ["pull", { kind: "pull", start, image: "web:1", seconds: 99, bytes: undefined }, "bad"],
  ["termination", { kind: "terminated", start, seconds: 5, endedMs: 0 }, "good"],
  ["start", { kind: "stuck", start, stage: "init" }, undefined],
  ["start", { kind: "abandoned", start, stage: "init" }, undefined],
])("3085-13: evaluates the measure %s of %j as %s", (measure, signal, result) => {
  expect(evaluateSignal(latency(measure), signal, always)).toBe(result);
});

test("3085-12: ignores starts delayed by user errors, but not their terminations", () => {
  const held = podStart({ userError: "MissingSecret" });
  expect(
    evaluateSignal(latency("start"), { kind: "ready", start: held, seconds: 900, endedMs: 0 }, always),
  ).toBeUndefined();
  expect(
    evaluateSignal(
      latency("termination"),
      { kind: "terminated", start: held, seconds: 1, endedMs: 0 },
      always,
    ),
  ).toBe("good");
  expect(isOverdue(success("start"), held, { asOfMs: 1e9, unavailableMs: always })).toBe(false);
});

test.each<[ObjectiveSelector, boolean]>([
  [{ namespaces: ["bank", "shop"] }, true],
  [{ namespaces: ["bank"] }, false],
  [{ ownerKinds: ["StatefulSet"] }, true],
  [{ ownerKinds: ["ReplicaSet"] }, false],
  [{ runtimeClasses: ["kata"] }, true],
  [{ runtimeClasses: ["runc"] }, false],
  [{ storageClasses: ["slow"] }, true],
  [{ storageClasses: ["other"] }, false],
  [{ chosen: { team: "db" } }, true],
  [{ chosen: { team: "web" } }, false],
  [{ namespaces: ["shop"], runtimeClasses: ["runc"] }, false],
])("%j selects it: %s", (selector, isSelected) => {
  const result = evaluateSignal(
    latency("start", selector),
    { kind: "ready", start, seconds: 1, endedMs: 0 },
    always,
  );
  expect(result === "good").toBe(isSelected);
});

test.each<[string, SuccessObjective["measure"], Parameters<typeof podStart>[0], number, boolean]>([
  ["before its deadline", "start", { createdMs: 1_000 }, 61_000, false],
  ["after its deadline", "start", { createdMs: 1_000 }, 61_001, true],
  [
    "measured from scheduling for a first sandbox",
    "first-sandbox",
    { ends: { scheduling: 5_000 } },
    65_001,
    true,
  ],
  ["not before scheduling", "first-sandbox", { ends: {} }, 1e9, false],
  [
    "not once the sandbox exists",
    "first-sandbox",
    { ends: { scheduling: 5_000, sandbox: 6_000 } },
    1e9,
    false,
  ],
])("3085-13: overdue %s", (_, measure, given, now, overdue) => {
  expect(isOverdue(success(measure), podStart(given), { asOfMs: now, unavailableMs: always })).toBe(overdue);
});

test.each<[string, SuccessObjective["measure"], Parameters<typeof podStart>[0]]>([
  ["while it has scheduling gates", "start", { createdMs: 1_000, beganMs: undefined }],
  ["for the time in which it had them", "start", { createdMs: 1_000, beganMs: 1e9 - 60_000 }],
])("3085-16: does not count a start as overdue %s", (_, measure, given) => {
  const facts = { asOfMs: 1e9, unavailableMs: always };
  expect(isOverdue(success(measure), podStart(given), facts)).toBe(false);
});

test.each<[string, number, number, "good" | "bad" | undefined]>([
  ["short enough", 10, 0, "good"],
  ["too long", 11, 0, "bad"],
  ["too long only because the API server was unavailable", 310, 300, undefined],
  ["too long even without the outage", 311, 300, "bad"],
])("3085-16: evaluates a duration that is %s", (_, seconds, away, result) => {
  const signal = { kind: "ready", start, seconds, endedMs: 400_000 } as const;
  const unavailableMs = (fromMs: number, untilMs: number) =>
    fromMs === 400_000 - seconds * 1_000 && untilMs === 400_000 ? away * 1_000 : Number.NaN;
  expect(evaluateSignal(latency("start"), signal, unavailableMs)).toBe(result);
});

const of = (dimension: string, value: string, bad: number, total: number) => ({
  dimension,
  value,
  bad,
  total,
});

test.each([
  [
    "ranks a failing plugin before the namespaces, nodes and owners that use it",
    [
      of("namespace", "shop", 10, 40),
      of("StorageClass", "broken", 10, 10),
      of("StorageClass", "<none>", 0, 90),
      of("node", "node-1", 2, 20),
      of("RuntimeClass", "<none>", 10, 100),
    ],
    10,
    ["StorageClass broken", "namespace shop", "RuntimeClass <none>", "node node-1"],
  ],
  [
    "ranks a failing node before a class that fails only there",
    [of("StorageClass", "fast", 9, 90), of("node", "node-3", 9, 9), of("node", "node-1", 1, 45)],
    10,
    ["node node-3", "StorageClass fast", "node node-1"],
  ],
  [
    "keeps the order of classes with equal scores",
    [of("StorageClass", "broken", 5, 5), of("namespace", "shop", 5, 5)],
    5,
    ["StorageClass broken", "namespace shop"],
  ],
  ["returns nothing without bad events", [of("node", "node-1", 0, 5)], 0, []],
])("3085-13: %s", (_, classes, allBad, ranked) => {
  expect(rankBreaches(classes, allBad).map(({ dimension, value }) => `${dimension} ${value}`)).toEqual(
    ranked,
  );
});

const minute = 60_000;
const hour = () => createWindowedCounts({ windowMs: 60 * minute, steps: 6 });

test("counts by key and expires counts older than the window", () => {
  const counts = hour();
  counts.add(0, ["", "a"], true);
  counts.add(30 * minute, ["", "b"], false);
  expect(counts.totals(59 * minute)).toEqual(
    new Map([
      ["", { bad: 1, total: 2 }],
      ["a", { bad: 1, total: 1 }],
      ["b", { bad: 0, total: 1 }],
    ]),
  );
  expect(counts.totals(60 * minute)).toEqual(
    new Map([
      ["", { bad: 0, total: 1 }],
      ["b", { bad: 0, total: 1 }],
    ]),
  );
  expect(counts.totals(90 * minute).size).toBe(0);
});

test("uses constant memory over a year", () => {
  const counts = hour();
  for (let now = 0; now < 365 * 24 * 60 * minute; now += 60 * minute) counts.add(now, ["a"], false);
  expect(counts.save()).toHaveLength(1);
});

test("expires future counts after the clock was set back", () => {
  const counts = hour();
  counts.add(1e12, ["a"], true);
  expect(counts.totals(1_000).size).toBe(0);
});

test("continues from saved counts", () => {
  const counts = hour();
  counts.add(0, ["a"], true);
  const saved = JSON.parse(JSON.stringify(counts.save()));
  const next = createWindowedCounts({ windowMs: 60 * minute, steps: 6, saved });
  next.add(minute, ["a"], false);
  expect(next.totals(minute)).toEqual(new Map([["a", { bad: 1, total: 2 }]]));
});
