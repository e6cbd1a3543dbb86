import { describe, expect, test } from "vitest";
import { followGone } from "./follow-gone.ts";
import { at, followAll, ms, type PodSketch, running, sketchPod } from "./start.fixture.ts";
import { decodeRecord, encodeRecord } from "./start-record.ts";

type Versions = readonly (PodSketch | "gap")[];

const scheduled = "True 15:33:46";
const notYet = { scheduled, startTime: "15:33:47", sandbox: "False 15:33:47" };

describe("3085-12 the scenarios of the proposal, with their timestamps", () => {
  const cases: readonly (readonly [string, Versions, readonly string[]])[] = [
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
    const without = { created: "15:33:46", scheduled, startTime: "15:33:47", phase: "Running" } as const;
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

const whole = [
  { created: "15:33:45" },
  notYet,
  { ...notYet, sandbox: "True 15:33:49" },
  { ...notYet, sandbox: "True 15:33:49", containers: [running("15:33:52")] },
  { ...notYet, sandbox: "True 15:33:49", containers: [running("15:33:52")], ready: "True 15:33:57" },
];

test("a start from its creation to Ready", () => {
  const { told, state } = followAll(whole);
  expect(told).toEqual([
    "scheduling 1 s",
    "sandbox 3 s",
    "first sandbox 3 s",
    "containers 3 s",
    "readiness 5 s",
    "ready 12 s",
  ]);
  expect(state).toMatchObject({
    outcome: "ready",
    ends: { sandbox: ms("15:33:49"), readiness: ms("15:33:57") },
  });
});

test("init containers have a stage of their own", () => {
  const sandbox = { ...notYet, init: true, sandbox: "True 15:33:49", initialized: "False 15:33:47" };
  const initialized = { ...sandbox, initialized: "True 15:34:00" };
  expect(
    followAll([
      notYet,
      sandbox,
      initialized,
      { ...initialized, containers: [running("15:34:02")] },
    ]).told.slice(3),
  ).toEqual(["init 11 s", "containers 2 s"]);
});

describe("what was not seen", () => {
  const ready = whole.at(-1) as PodSketch;
  const cases: readonly (readonly [string, Versions, readonly string[]])[] = [
    [
      "a whole start: only what can never turn back is known",
      ["gap", ready],
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
      ["gap", { scheduled, sandbox: "False 15:33:47" }],
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
      [{}, { scheduled }, { scheduled, containers: [running("15:33:52")], ready: "True 15:33:57" }],
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
      followAll(["gap", { ...ready, containers: [running("15:33:52", 4)] }], { sinceMs: ms("16:00:00") })
        .told,
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

describe("restarts", () => {
  const cases: readonly (readonly [string, Versions, readonly string[]])[] = [
    [
      "each once",
      [{ containers: [running("15:34:00", 1)] }, { containers: [running("15:35:00", 2)] }],
      ["c0", "c0"],
    ],
    [
      "those of a gap too",
      [{ containers: [running("15:34:00", 1)] }, "gap", { containers: [running("15:35:00", 3)] }],
      ["c0", "c0", "c0"],
    ],
    ["by container", [{ containers: [running("15:34:00", 1), running("15:34:00", 1)] }], ["c0", "c1"]],
    ["not without end", [{ containers: [running("15:34:00", 2 ** 31 - 1)] }], Array(100).fill("c0")],
  ];
  test.each(cases)("%s", (_, versions, containers) => {
    const { told } = followAll(versions);
    expect(told.filter((line) => line.startsWith("restart"))).toEqual(
      containers.map((name) => `restart of ${name}`),
    );
  });

  test("a count that falls is no restart", () => {
    expect(
      followAll([
        { containers: [running("15:34:00", 5)] },
        { containers: [running("15:34:00", 1)] },
      ]).told.filter((line) => line.startsWith("restart")),
    ).toHaveLength(5);
  });
});

describe("when all containers have started", () => {
  const base = { ...notYet, sandbox: "True 15:33:49" };
  const ended = (time: string) => ({ lastState: { terminated: { startedAt: at(time), exitCode: 1 } } });
  const cases: readonly (readonly [string, PodSketch["containers"], string | undefined])[] = [
    ["the last one counts", [running("15:33:52"), running("15:33:55")], "containers 6 s"],
    ["one is missing", [running("15:33:52"), {}], undefined],
    [
      "one could not be started",
      [{ state: { terminated: { startedAt: "1970-01-01T00:00:00Z", exitCode: 128 } } }],
      undefined,
    ],
    [
      "one restart: its first start is the last state's",
      [{ ...running("15:40:00", 1), ...ended("15:33:52") }],
      "containers 3 s",
    ],
    [
      "several restarts: its first start is forgotten",
      [{ ...running("15:40:00", 3), ...ended("15:39:00") }],
      "unknown containers",
    ],
    [
      "and does not matter before the start of another",
      [{ ...running("15:35:00", 3), ...ended("15:34:00") }, running("15:36:00")],
      "containers 131 s",
    ],
  ];
  test.each(cases)("%s", (_, containers, line) => {
    expect(
      followAll([notYet, base, { ...base, containers }]).told.find((each) => each.includes("containers")),
    ).toBe(line);
  });
});

describe("the end of a pod", () => {
  const up = {
    ...notYet,
    sandbox: "True 15:33:49",
    containers: [running("15:33:52")],
    ready: "True 15:33:57",
  };
  test("the time it was given is not counted: deletion timestamps are ahead by it", () => {
    const leaving = { ...up, deleted: "16:00:00", graceSeconds: 3_600 };
    const told = followAll([notYet, up, leaving, { ...leaving, sandbox: "False 16:00:07" }]).told;
    expect(told.at(-1)).toBe("terminated 7 s");
  });

  test("a second request with less grace does not count as the first", () => {
    const gone = { ...up, deleted: "16:00:20", graceSeconds: 0, sandbox: "False 16:00:21" };
    expect(followAll([notYet, up, { ...up, deleted: "16:00:00" }, gone]).told.at(-1)).toBe("terminated 21 s");
  });

  test("a pod that was done before has nothing to terminate", () => {
    const done = { ...up, phase: "Succeeded", ready: "False 15:50:00", sandbox: "False 15:50:01" };
    const { told, state } = followAll([notYet, up, done, { ...done, deleted: "16:00:00" }]);
    expect(told.slice(6)).toEqual([]);
    expect(followGone(state, sketchPod(done))).toEqual([]);
  });

  test("gone without a word", () => {
    expect(followGone(followAll([notYet, up]).state, sketchPod(up))).toEqual([
      { kind: "unknown", what: "termination" },
    ]);
    expect(followGone(followAll([notYet]).state, sketchPod(notYet))).toEqual([
      { kind: "abandoned", stage: "sandbox" },
    ]);
  });

  test("failed on the way", () => {
    expect(followAll([notYet, { ...notYet, phase: "Failed" }]).told.at(-1)).toBe("abandoned in sandbox");
  });
});
