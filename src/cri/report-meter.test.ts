import { expect, test } from "vitest";
import { isReportDue, type ReportGranularity, requestedGranularity, withDefaults } from "./report-meter.ts";

const time: ReportGranularity = { kind: "time", intervalMs: 1_000 };
const size: ReportGranularity = { kind: "size", intervalBytes: 100 };

test.each([
  ["3542-2 time: before the interval", time, { now: 1_999, offset: 5_000 }, false],
  ["3542-2 time: at the interval, also without a byte", time, { now: 2_000, offset: 50 }, true],
  ["3542-2 size: below the interval, however long", size, { now: 99_999, offset: 149 }, false],
  ["3542-2 size: at the interval", size, { now: 1_000, offset: 150 }, true],
  ["3542-2 none: never", { kind: "none" }, { now: 99_999, offset: 99_999 }, false],
] as const)("%s", (_name, granularity, current, expected) => {
  expect(isReportDue(granularity, { atMs: 1_000, offset: 50 }, current)).toBe(expected);
});

test.each([
  [
    { kind: "time", intervalMs: 0 },
    { kind: "time", intervalMs: 60_000 },
  ],
  [
    { kind: "size", intervalBytes: 0 },
    { kind: "size", intervalBytes: 2 ** 30 },
  ],
  [time, time],
  [{ kind: "none" }, { kind: "none" }],
] as const)("3542-2 %j means %j", (asked, meant) => {
  expect(withDefaults(asked)).toEqual(meant);
});

test.each([
  [0, 5n, { kind: "size", intervalBytes: 5 }],
  [0, undefined, { kind: "size", intervalBytes: 2 ** 30 }],
  [1, 5n, { kind: "time", intervalMs: 5_000 }],
  [1, 0n, { kind: "time", intervalMs: 60_000 }],
  [2, 5n, { kind: "none" }],
])("3542-2 a request of type %i with interval %s", (type, value, expected) => {
  const granularityType = type as 0 | 1 | 2;
  const interval = value === undefined ? undefined : { value };
  expect(requestedGranularity({ granularityType, interval })).toEqual(expected);
});
