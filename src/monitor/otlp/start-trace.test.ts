import { expect, test } from "vitest";
import { podStart } from "../metrics/pod-start.fixture.ts";
import { traceOfStart } from "./start-trace.ts";

const at = Date.parse("2030-01-01T00:00:00Z");
const timesOf = (given: Parameters<typeof podStart>[0]) => {
  const spans = traceOfStart(podStart({ createdMs: at, ...given }), { endMs: at + 10_000 });
  const ms = (nanoseconds: string) => Number(BigInt(nanoseconds) / 1_000_000n) - at;
  return spans.map(({ name, startTimeUnixNano, endTimeUnixNano }) => [
    name,
    ms(startTimeUnixNano),
    ms(endTimeUnixNano),
  ]);
};

test("creates a span for the start, each stage and each pull", () => {
  expect(
    timesOf({
      ends: {
        scheduling: at + 1_000,
        sandbox: at + 2_000,
        init: at + 3_000,
        containers: at + 9_000,
        readiness: at + 10_000,
      },
      pulls: [
        { image: "web:1", seconds: 4.5, bytes: 100, endedMs: at + 8_000 },
        { image: "unknown:1", seconds: 1, bytes: undefined },
      ],
    }),
  ).toEqual([
    ["pod start", 0, 10_000],
    ["scheduling", 0, 1_000],
    ["sandbox", 1_000, 2_000],
    ["init", 2_000, 3_000],
    ["containers", 3_000, 9_000],
    ["readiness", 9_000, 10_000],
    ["pull web:1", 3_500, 8_000],
  ]);
});

test("3085-16: the trace of a start begins when the last scheduling gate is removed", () => {
  expect(timesOf({ beganMs: at + 8_000, ends: { scheduling: at + 9_000 } })).toEqual([
    ["pod start", 8_000, 10_000],
    ["scheduling", 8_000, 9_000],
  ]);
});

test.each([
  [
    "no init containers",
    { scheduling: 1, sandbox: 2, containers: 3 },
    ["scheduling 0-1", "sandbox 1-2", "containers 2-3"],
  ],
  [
    "the end of a stage is unknown",
    { scheduling: 1, containers: 3, readiness: 4 },
    ["scheduling 0-1", "readiness 3-4"],
  ],
  [
    "times that go backwards",
    { scheduling: 5, sandbox: 2, containers: 3 },
    ["scheduling 0-5", "containers 2-3"],
  ],
  ["nothing is known", {}, []],
])("%s", (_, ends, shown) => {
  const inMs = Object.fromEntries(Object.entries(ends).map(([stage, ms]) => [stage, at + ms]));
  const stages = timesOf({ ends: inMs }).slice(1);
  expect(stages.map(([name, from, until]) => `${name} ${from}-${until}`)).toEqual(shown);
});

test("clamps the start of a pull to the creation of the pod", () => {
  const pulls = [{ image: "web:1", seconds: 2, bytes: undefined, endedMs: at + 1_000 }];
  expect(timesOf({ pulls }).at(-1)).toEqual(["pull web:1", 0, 1_000]);
});

test("creates deterministic ids of OTLP's lengths that differ between pods", () => {
  const [first, again] = [traceOfStart(podStart(), { endMs: 1 }), traceOfStart(podStart(), { endMs: 1 })];
  const [other] = traceOfStart(podStart({ pod: { uid: "uid-2" } }), { endMs: 1 });
  expect(first).toEqual(again);
  expect(first[0]?.traceId).toMatch(/^[0-9a-f]{32}$/);
  expect(first[0]?.spanId).toMatch(/^[0-9a-f]{16}$/);
  expect(other?.traceId).not.toBe(first[0]?.traceId);
});
