import { describe, expect, test } from "vitest";
import { applyAll, notYet, type PodVersions, running } from "./start.fixture.ts";
import { decodeRecord, encodeRecord } from "./start-record.ts";

describe("3085-12 the scenarios of the proposal, with their timestamps", () => {
  const cases: readonly (readonly [string, PodVersions, readonly string[]])[] = [
    [
      "1: a healthy pod",
      [{ created: "15:33:46" }, notYet, { ...notYet, sandbox: "True 15:33:49" }],
      ["scheduling 1 s", "sandbox 3 s", "first sandbox 3 s"],
    ],
    [
      "2: a plugin delays the start",
      [notYet, { ...notYet, sandbox: "True 15:33:56" }],
      ["scheduling 1 s", "sandbox 10 s", "first sandbox 10 s"],
    ],
    ["3: a sandbox that never comes", [notYet, notYet, notYet], ["scheduling 1 s"]],
    [
      "3: an abandoned start",
      [notYet, { ...notYet, deleted: "15:53:46" }],
      ["scheduling 1 s", "abandoned in sandbox"],
    ],
    [
      "4: a sandbox that is lost and recreated",
      [
        notYet,
        { ...notYet, sandbox: "True 15:33:52" },
        { ...notYet, sandbox: "False 17:33:46" },
        { ...notYet, sandbox: "True 17:33:52" },
      ],
      ["scheduling 1 s", "sandbox 6 s", "first sandbox 6 s", "sandbox again 6 s"],
    ],
    [
      "5: graceful termination",
      [
        { created: "12:33:46", scheduled: "True 12:33:46" },
        { created: "12:33:46", scheduled: "True 12:33:46", sandbox: "True 12:33:48" },
        { created: "12:33:46", scheduled: "True 12:33:46", sandbox: "True 12:33:48", deleted: "15:33:47" },
        { created: "12:33:46", scheduled: "True 12:33:46", sandbox: "False 15:33:49", deleted: "15:33:47" },
      ],
      ["scheduling 0 s", "sandbox 2 s", "first sandbox 2 s", "abandoned in containers", "terminated 2 s"],
    ],
  ];
  test.each(cases)("scenario %s", (_, versions, signals) => {
    expect(applyAll(versions).signals).toEqual(signals);
  });

  test("reports durations as unknown that need a condition which the kubelet lacks", () => {
    const without = {
      created: "15:33:46",
      scheduled: notYet.scheduled,
      startTime: "15:33:47",
      phase: "Running",
    } as const;
    const { signals } = applyAll([
      { created: "15:33:46" },
      { ...without, containers: [running("15:33:50")], ready: "False 15:33:47" },
      { ...without, containers: [running("15:33:50")], ready: "True 15:33:52" },
    ]);
    expect(signals).toEqual([
      "scheduling 0 s",
      "unknown sandbox",
      "unknown containers",
      "readiness 2 s",
      "ready 6 s",
    ]);
  });

  test("4: a restarted monitor reads the first sandbox from its record", () => {
    const before = applyAll([notYet, { ...notYet, sandbox: "True 15:33:52" }]);
    const from = decodeRecord(encodeRecord(before.state));
    expect(from).toEqual(before.state);
    const lost = { ...notYet, sandbox: "False 17:33:46" };
    const again = { ...notYet, sandbox: "True 17:33:52" };
    expect(applyAll(["gap", lost, again], { from }).signals).toEqual(["sandbox again 6 s"]);
    expect(applyAll(["gap", again], { from }).signals).toEqual(["unknown recreation"]);
  });
});
