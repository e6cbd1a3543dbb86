import { describe, expect, test } from "vitest";
import { applyAll, ms, notYet, type PodVersions, running, up } from "./start.fixture.ts";

describe("gaps in the observation", () => {
  const cases: readonly (readonly [string, PodVersions, readonly string[]])[] = [
    [
      "a whole start: only conditions that never become false again are known",
      ["gap", up],
      ["scheduling 1 s", "unknown sandbox", "unknown containers", "unknown readiness", "unknown ready"],
    ],
    [
      "a sandbox that became ready between two observations",
      [notYet, "gap", { ...notYet, sandbox: "True 15:33:49" }],
      ["scheduling 1 s", "unknown sandbox"],
    ],
    [
      "no sandbox: the condition is false since the kubelet started",
      ["gap", notYet, { ...notYet, sandbox: "True 15:33:49" }],
      ["scheduling 1 s", "sandbox 3 s", "first sandbox 3 s"],
    ],
    [
      "a lost sandbox: the condition became false after the kubelet started",
      ["gap", { ...notYet, sandbox: "False 15:40:00" }, { ...notYet, sandbox: "True 15:40:05" }],
      ["scheduling 1 s", "unknown sandbox", "sandbox again 5 s"],
    ],
    [
      "a lost sandbox: a container ran in it",
      ["gap", { ...notYet, containers: [running("15:33:47")] }],
      ["scheduling 1 s", "unknown sandbox", "unknown containers"],
    ],
    [
      "a false condition without a start time may have been true",
      ["gap", { scheduled: notYet.scheduled, sandbox: "False 15:33:47" }],
      ["scheduling 1 s", "unknown sandbox"],
    ],
    [
      "the loss between two sandboxes",
      [notYet, { ...notYet, sandbox: "True 15:33:49" }, { ...notYet, sandbox: "True 15:40:00" }],
      ["scheduling 1 s", "sandbox 3 s", "first sandbox 3 s", "unknown recreation"],
    ],
    [
      "a sandbox between two losses",
      [
        notYet,
        { ...notYet, sandbox: "True 15:33:49" },
        { ...notYet, sandbox: "False 15:40:00" },
        "gap",
        { ...notYet, sandbox: "False 15:50:00" },
      ],
      ["scheduling 1 s", "sandbox 3 s", "first sandbox 3 s", "unknown recreation"],
    ],
    [
      "a sandbox that was recreated",
      [
        notYet,
        { ...notYet, sandbox: "True 15:33:49" },
        { ...notYet, sandbox: "False 15:40:00" },
        "gap",
        { ...notYet, sandbox: "True 15:50:00" },
      ],
      ["scheduling 1 s", "sandbox 3 s", "first sandbox 3 s", "unknown recreation"],
    ],
    [
      "the condition, on a cluster without it",
      [
        {},
        { scheduled: notYet.scheduled },
        { scheduled: notYet.scheduled, containers: [running("15:33:52")], ready: "True 15:33:57" },
      ],
      ["scheduling 1 s", "unknown sandbox", "unknown containers", "readiness 5 s", "ready 12 s"],
    ],
    [
      "readiness of a short job",
      [notYet, { ...notYet, phase: "Succeeded" }],
      ["scheduling 1 s", "unknown sandbox", "unknown containers", "unknown ready"],
    ],
  ];
  test.each(cases)("%s", (_, versions, signals) => {
    expect(applyAll(versions).signals).toEqual(signals);
  });

  test("does not report what ended before the monitor started", () => {
    expect(
      applyAll(["gap", { ...up, containers: [running("15:33:52", 4)] }], { sinceMs: ms("16:00:00") }).signals,
    ).toEqual([]);
    expect(applyAll(["gap", { phase: "Succeeded" }], { sinceMs: ms("16:00:00") }).signals).toEqual([]);
    expect(applyAll(["gap", { phase: "Failed" }], { sinceMs: ms("16:00:00") }).signals).toEqual([]);
  });
});

describe("different clocks", () => {
  test.each([
    ["by a second are as good as equal", "15:33:45", ["scheduling 1 s", "sandbox 0 s", "first sandbox 0 s"]],
    ["by more give no length", "15:33:44", ["scheduling 1 s", "unknown sandbox"]],
  ])("%s", (_, time, signals) => {
    expect(applyAll([notYet, { ...notYet, sandbox: `True ${time}` }]).signals).toEqual(signals);
  });

  test("reports invalid times as unknown", () => {
    expect(applyAll([{ ...notYet, metadata: { creationTimestamp: "soon" } }]).signals).toEqual([
      "unknown scheduling",
    ]);
    expect(applyAll([{ scheduled: "True soon", sandbox: "True later" }]).signals).toEqual([]);
  });
});
