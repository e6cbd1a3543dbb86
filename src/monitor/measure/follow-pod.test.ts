import { describe, expect, test } from "vitest";
import { at, followAll, ms, notYet, type PodSketch, type PodVersions, running, up } from "./start.fixture.ts";

test("a start from its creation to Ready", () => {
  const { sandbox, containers } = up;
  const { told, state } = followAll([
    { created: "15:33:45" },
    notYet,
    { ...notYet, sandbox },
    { ...notYet, sandbox, containers },
    up,
  ]);
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

describe("restarts", () => {
  const cases: readonly (readonly [string, PodVersions, readonly string[]])[] = [
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
  const base = { ...notYet, sandbox: up.sandbox };
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
