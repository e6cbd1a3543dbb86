import { describe, expect, test } from "vitest";
import { followAll, notYet, type PodVersions, running } from "./start.fixture.ts";
import { decodeRecord, encodeRecord } from "./start-record.ts";

describe("3085-12 the scenarios of the proposal, with their timestamps", () => {
  const cases: readonly (readonly [string, PodVersions, readonly string[]])[] = [
    [
      "1: a healthy pod",
      [{ created: "15:33:46" }, notYet, { ...notYet, sandbox: "True 15:33:49" }],
      ["scheduling 1 s", "sandbox 3 s", "first sandbox 3 s"],
    ],
    [
      "2: delays by a plugin",
      [notYet, { ...notYet, sandbox: "True 15:33:56" }],
      ["scheduling 1 s", "sandbox 10 s", "first sandbox 10 s"],
    ],
    ["3: a sandbox that never comes", [notYet, notYet, notYet], ["scheduling 1 s"]],
    [
      "3: and is given up",
      [notYet, { ...notYet, deleted: "15:53:46" }],
      ["scheduling 1 s", "abandoned in sandbox"],
    ],
    [
      "4: a sandbox that is lost and made again",
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
  test.each(cases)("scenario %s", (_, versions, told) => {
    expect(followAll(versions).told).toEqual(told);
  });

  test("a kubelet without the condition: what rests on it is unknown, the rest is told", () => {
    const without = {
      created: "15:33:46",
      scheduled: notYet.scheduled,
      startTime: "15:33:47",
      phase: "Running",
    } as const;
    const { told } = followAll([
      { created: "15:33:46" },
      { ...without, containers: [running("15:33:50")], ready: "False 15:33:47" },
      { ...without, containers: [running("15:33:50")], ready: "True 15:33:52" },
    ]);
    expect(told).toEqual([
      "scheduling 0 s",
      "unknown sandbox",
      "unknown containers",
      "readiness 2 s",
      "ready 6 s",
    ]);
  });

  test("4: a monitor that was restarted knows the first sandbox by its record", () => {
    const before = followAll([notYet, { ...notYet, sandbox: "True 15:33:52" }]);
    const from = decodeRecord(encodeRecord(before.state));
    expect(from).toEqual(before.state);
    const lost = { ...notYet, sandbox: "False 17:33:46" };
    const again = { ...notYet, sandbox: "True 17:33:52" };
    expect(followAll(["gap", lost, again], { from }).told).toEqual(["sandbox again 6 s"]);
    expect(followAll(["gap", again], { from }).told).toEqual(["unknown recreation"]);
  });
});
