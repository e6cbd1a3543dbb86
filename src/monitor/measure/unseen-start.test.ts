import { describe, expect, test } from "vitest";
import { followAll, ms, notYet, type PodVersions, running, up } from "./start.fixture.ts";

describe("what was not seen", () => {
  const cases: readonly (readonly [string, PodVersions, readonly string[]])[] = [
    [
      "a whole start: only what can never turn back is known",
      ["gap", up],
      ["scheduling 1 s", "unknown sandbox", "unknown containers", "unknown readiness", "unknown ready"],
    ],
    [
      "the sandbox coming, between two sightings",
      [notYet, "gap", { ...notYet, sandbox: "True 15:33:49" }],
      ["scheduling 1 s", "unknown sandbox"],
    ],
    [
      "nothing of the sandbox: it is false since the kubelet began",
      ["gap", notYet, { ...notYet, sandbox: "True 15:33:49" }],
      ["scheduling 1 s", "sandbox 3 s", "first sandbox 3 s"],
    ],
    [
      "a sandbox that stood once: it turned false later than the kubelet began",
      ["gap", { ...notYet, sandbox: "False 15:40:00" }, { ...notYet, sandbox: "True 15:40:05" }],
      ["scheduling 1 s", "unknown sandbox", "sandbox again 5 s"],
    ],
    [
      "a sandbox that stood once: a container ran in it",
      ["gap", { ...notYet, containers: [running("15:33:47")] }],
      ["scheduling 1 s", "unknown sandbox", "unknown containers"],
    ],
    [
      "a false condition without a start time: it may have turned",
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
      "the way back of a sandbox",
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
      "that it was ready: a job that was quick",
      [notYet, { ...notYet, phase: "Succeeded" }],
      ["scheduling 1 s", "unknown sandbox", "unknown containers", "unknown ready"],
    ],
  ];
  test.each(cases)("%s", (_, versions, told) => {
    expect(followAll(versions).told).toEqual(told);
  });

  test("what ended before the monitor's time is not told at all", () => {
    expect(
      followAll(["gap", { ...up, containers: [running("15:33:52", 4)] }], { sinceMs: ms("16:00:00") }).told,
    ).toEqual([]);
    expect(followAll(["gap", { phase: "Succeeded" }], { sinceMs: ms("16:00:00") }).told).toEqual([]);
    expect(followAll(["gap", { phase: "Failed" }], { sinceMs: ms("16:00:00") }).told).toEqual([]);
  });
});

describe("clocks that differ", () => {
  test.each([
    ["by a second are as good as equal", "15:33:45", ["scheduling 1 s", "sandbox 0 s", "first sandbox 0 s"]],
    ["by more give no length", "15:33:44", ["scheduling 1 s", "unknown sandbox"]],
  ])("%s", (_, time, told) => {
    expect(followAll([notYet, { ...notYet, sandbox: `True ${time}` }]).told).toEqual(told);
  });

  test("times that cannot be read are unknown", () => {
    expect(followAll([{ ...notYet, metadata: { creationTimestamp: "soon" } }]).told).toEqual([
      "unknown scheduling",
    ]);
    expect(followAll([{ scheduled: "True soon", sandbox: "True later" }]).told).toEqual([]);
  });
});
