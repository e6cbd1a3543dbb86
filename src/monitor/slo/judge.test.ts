import { expect, test } from "vitest";
import type { StartSignal } from "../measure/start-signal.ts";
import { podStart } from "../metrics/pod-start.fixture.ts";
import { isOverdue, judgeSignal } from "./judge.ts";
import type { LatencyObjective, Measure, ObjectiveSelector, SuccessObjective } from "./objective.ts";

const start = podStart({
  class: { runtimeClass: "kata", storageClasses: ["fast", "slow"], chosen: { team: "db" } },
});
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
  ["start", { kind: "ready", start, seconds: 10 }, "good"],
  ["start", { kind: "ready", start, seconds: 10.001 }, "bad"],
  ["start", { kind: "stage", start, stage: "sandbox", seconds: 1 }, undefined],
  ["sandbox", { kind: "stage", start, stage: "sandbox", seconds: 1 }, "good"],
  ["sandbox", { kind: "stage", start, stage: "init", seconds: 1 }, undefined],
  ["first-sandbox", { kind: "sandbox", start, first: true, seconds: 11 }, "bad"],
  ["first-sandbox", { kind: "sandbox", start, first: false, seconds: 11 }, undefined],
  ["recreation", { kind: "sandbox", start, first: false, seconds: 1 }, "good"],
  ["pull", { kind: "pull", start, image: "web:1", seconds: 99, bytes: undefined }, "bad"],
  ["termination", { kind: "terminated", start, seconds: 5 }, "good"],
  ["start", { kind: "stuck", start, stage: "init" }, undefined],
  ["start", { kind: "abandoned", start, stage: "init" }, undefined],
])("3085-13: %s of %j is %s", (measure, signal, verdict) => {
  expect(judgeSignal(latency(measure), signal)).toBe(verdict);
});

test("3085-12: what a user's error held up is not judged, but how it ends is", () => {
  const held = podStart({ userError: "MissingSecret" });
  expect(judgeSignal(latency("start"), { kind: "ready", start: held, seconds: 900 })).toBeUndefined();
  expect(judgeSignal(latency("termination"), { kind: "terminated", start: held, seconds: 1 })).toBe("good");
  expect(isOverdue(success("start"), held, 1e9)).toBe(false);
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
  const verdict = judgeSignal(latency("start", selector), { kind: "ready", start, seconds: 1 });
  expect(verdict === "good").toBe(isSelected);
});

test.each<[string, SuccessObjective["measure"], Parameters<typeof podStart>[0], number, boolean]>([
  ["before its deadline", "start", { createdMs: 1_000 }, 61_000, false],
  ["after it", "start", { createdMs: 1_000 }, 61_001, true],
  ["a sandbox's time counts from scheduling", "first-sandbox", { ends: { scheduling: 5_000 } }, 65_001, true],
  ["and not before", "first-sandbox", { ends: {} }, 1e9, false],
  ["nor once it is there", "first-sandbox", { ends: { scheduling: 5_000, sandbox: 6_000 } }, 1e9, false],
])("3085-13: overdue %s", (_, measure, given, now, overdue) => {
  expect(isOverdue(success(measure), podStart(given), now)).toBe(overdue);
});
