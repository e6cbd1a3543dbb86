import { expect, test } from "vitest";
import { meterBySize, type ReportGranularity, requestedGranularity, withDefaults } from "./report-meter.ts";

const time: ReportGranularity = { kind: "time", intervalMs: 1_000 };
const reported = { offset: 50, allowance: 3, atMs: 1_000 };

test.each([
  [
    "no report below the interval",
    reported,
    { offset: 149, now: 99_999 },
    { kind: "quiet", meter: reported },
  ],
  [
    "a report at the interval",
    reported,
    { offset: 150, now: 1_000 },
    { kind: "report", meter: { offset: 150, allowance: 2, atMs: 1_000 } },
  ],
  [
    "no report after a restarted download",
    reported,
    { offset: 20, now: 1_000 },
    { kind: "quiet", meter: { ...reported, offset: 20 } },
  ],
  [
    "a postponed report above the rate limit",
    { ...reported, allowance: 0.5 },
    { offset: 500, now: 1_000 },
    { kind: "postpone", waitMs: 13 },
  ],
  [
    "a report after the delay",
    { ...reported, allowance: 0.5 },
    { offset: 600, now: 1_025 },
    { kind: "report", meter: { offset: 600, allowance: 0.5, atMs: 1_025 } },
  ],
  [
    "a full allowance after a long time",
    { ...reported, allowance: 0 },
    { offset: 600, now: 9e9 },
    { kind: "report", meter: { offset: 600, allowance: 31, atMs: 9e9 } },
  ],
] as const)("3542-2 size: %s", (_name, meter, current, expected) => {
  expect(meterBySize(meter, { intervalBytes: 100, ...current })).toEqual(expected);
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
