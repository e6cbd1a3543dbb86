import { describe, expect, test } from "vitest";
import { applyDeletion } from "./apply-pod.ts";
import {
  applyAll,
  at,
  ms,
  notYet,
  type PodSketch,
  type PodVersions,
  running,
  sketchPod,
  up,
} from "./start.fixture.ts";

test("measures a start from creation to Ready", () => {
  const { sandbox, containers } = up;
  const { signals, state } = applyAll([
    { created: "15:33:45" },
    notYet,
    { ...notYet, sandbox },
    { ...notYet, sandbox, containers },
    up,
  ]);
  expect(signals).toEqual([
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

test("measures init containers as a separate stage", () => {
  const sandbox = { ...notYet, init: true, sandbox: "True 15:33:49", initialized: "False 15:33:47" };
  const initialized = { ...sandbox, initialized: "True 15:34:00" };
  expect(
    applyAll([
      notYet,
      sandbox,
      initialized,
      { ...initialized, containers: [running("15:34:02")] },
    ]).signals.slice(3),
  ).toEqual(["init 11 s", "containers 2 s"]);
});

describe("restarts", () => {
  const cases: readonly (readonly [string, PodVersions, readonly string[]])[] = [
    [
      "each once",
      [{ containers: [running("15:34:00", 1)] }, { containers: [running("15:35:00", 2)] }],
      ["c0", "c0"],
    ],
    [
      "restarts during a gap",
      [{ containers: [running("15:34:00", 1)] }, "gap", { containers: [running("15:35:00", 3)] }],
      ["c0", "c0", "c0"],
    ],
    ["by container", [{ containers: [running("15:34:00", 1), running("15:34:00", 1)] }], ["c0", "c1"]],
    ["not without end", [{ containers: [running("15:34:00", 2 ** 31 - 1)] }], Array(100).fill("c0")],
  ];
  test.each(cases)("%s", (_, versions, containers) => {
    const { signals } = applyAll(versions);
    expect(signals.filter((line) => line.startsWith("restart"))).toEqual(
      containers.map((name) => `restart of ${name}`),
    );
  });

  test("ignores a decreasing restart count", () => {
    expect(
      applyAll([
        { containers: [running("15:34:00", 5)] },
        { containers: [running("15:34:00", 1)] },
      ]).signals.filter((line) => line.startsWith("restart")),
    ).toHaveLength(5);
  });
});

describe("when all containers have started", () => {
  const base = { ...notYet, sandbox: up.sandbox };
  const ended = (time: string) => ({ lastState: { terminated: { startedAt: at(time), exitCode: 1 } } });
  const cases: readonly (readonly [string, PodSketch["containers"], string | undefined])[] = [
    ["the last one counts", [running("15:33:52"), running("15:33:55")], "containers 6 s"],
    ["one is missing", [running("15:33:52"), {}], undefined],
    [
      "a container that could not be started",
      [{ state: { terminated: { startedAt: "1970-01-01T00:00:00Z", exitCode: 128 } } }],
      undefined,
    ],
    [
      "one restart: the first start is in lastState",
      [{ ...running("15:40:00", 1), ...ended("15:33:52") }],
      "containers 3 s",
    ],
    [
      "several restarts: the first start is unknown",
      [{ ...running("15:40:00", 3), ...ended("15:39:00") }],
      "unknown containers",
    ],
    [
      "an unknown first start before the start of another",
      [{ ...running("15:35:00", 3), ...ended("15:34:00") }, running("15:36:00")],
      "containers 131 s",
    ],
  ];
  test.each(cases)("%s", (_, containers, line) => {
    expect(
      applyAll([notYet, base, { ...base, containers }]).signals.find((each) => each.includes("containers")),
    ).toBe(line);
  });
});

describe("3085-16 scheduling gates do not count", () => {
  const held = { spec: { nodeName: undefined, schedulingGates: [{ name: "quota" }] } };
  const later: PodSketch = { scheduled: "True 17:00:03", seen: "17:00:03" };
  const ready: PodSketch = { ...later, ready: "True 17:00:09", containers: [running("17:00:08")] };
  test.each<[string, PodVersions, string[]]>([
    [
      "durations begin when the last gate is removed",
      [held, { seen: "17:00:01" }, later, ready],
      ["scheduling 2 s", "ready 8 s"],
    ],
    [
      "removed in a gap: unknown",
      [held, "gap", { seen: "17:00:01" }, later, ready],
      ["unknown scheduling", "unknown ready"],
    ],
  ])("%s", (_, versions, lines) => {
    const { signals } = applyAll(versions);
    expect(signals.filter((line) => /scheduling|ready/.test(line))).toEqual(lines);
  });
});

describe("3085-16 a crash loop", () => {
  const looping: PodSketch = {
    ...up,
    ready: "False 15:34:30",
    containers: [{ state: { waiting: { reason: "CrashLoopBackOff" } }, restartCount: 2 }],
  };
  test.each<[string, PodVersions, string[]]>([
    ["after Ready is emitted once", [notYet, up, looping, up, looping], ["crash-loop of c0"]],
    ["before Ready is not emitted", [notYet, looping], []],
  ])("%s", (_, versions, lines) => {
    const { signals } = applyAll(versions);
    expect(signals.filter((line) => line.startsWith("crash-loop"))).toEqual(lines);
  });
});

describe("the end of a pod", () => {
  test("subtracts the grace period from the deletion timestamp", () => {
    const leaving = { ...up, deleted: "16:00:00", graceSeconds: 3_600 };
    const signals = applyAll([notYet, up, leaving, { ...leaving, sandbox: "False 16:00:07" }]).signals;
    expect(signals.at(-1)).toBe("terminated 7 s");
  });

  test("keeps the first deletion request when a second one has a shorter grace period", () => {
    const gone = { ...up, deleted: "16:00:20", graceSeconds: 0, sandbox: "False 16:00:21" };
    expect(applyAll([notYet, up, { ...up, deleted: "16:00:00" }, gone]).signals.at(-1)).toBe(
      "terminated 21 s",
    );
  });

  test("does not measure the termination of a completed pod", () => {
    const done = { ...up, phase: "Succeeded", ready: "False 15:50:00", sandbox: "False 15:50:01" };
    const { signals, state } = applyAll([notYet, up, done, { ...done, deleted: "16:00:00" }]);
    expect(signals.slice(6)).toEqual([]);
    expect(applyDeletion(state, { pod: sketchPod(done), unbroken: true })).toEqual([]);
  });

  test("reports an unknown termination when the pod disappears", () => {
    expect(applyDeletion(applyAll([notYet, up]).state, { pod: sketchPod(up), unbroken: true })).toEqual([
      { kind: "unknown", what: "termination" },
    ]);
    expect(applyDeletion(applyAll([notYet]).state, { pod: sketchPod(notYet), unbroken: true })).toEqual([
      { kind: "abandoned", stage: "sandbox" },
    ]);
  });

  test("3085-16: reports an unknown outcome when the pod disappears during a gap", () => {
    const { state } = applyAll([notYet]);
    expect(applyDeletion(state, { pod: sketchPod(notYet), unbroken: false })).toEqual([
      { kind: "unknown", what: "ready" },
    ]);
  });

  test("reports a failed pod as abandoned", () => {
    expect(applyAll([notYet, { ...notYet, phase: "Failed" }]).signals.at(-1)).toBe("abandoned in sandbox");
  });
});
