import { expect, test } from "vitest";
import { linearTicks, logAxis, niceCeiling, placeOnLog } from "./nice-axis.ts";

test.each([
  [0, 1],
  [1_001, 2_000],
  [30_001, 60_000],
  [7 * 3_600_000, 8 * 3_600_000],
  [9e12, 9e12],
])("the axis for %d ms ends at %d", (ms, end) => {
  expect(niceCeiling(ms)).toBe(end);
});

test("ticks stand at round times, from 0", () => {
  expect(linearTicks(10_000, 5)).toEqual([0, 2_000, 4_000, 6_000, 8_000, 10_000]);
  expect(linearTicks(60_000, 4)).toEqual([0, 20_000, 40_000, 60_000]);
});

test.each<{ values: number[]; ticks: number[] }>([
  { values: [], ticks: [1, 3] },
  { values: [0], ticks: [1, 3] },
  { values: [1_000], ticks: [1_000, 3_000] },
  { values: [150, 4_000], ticks: [100, 300, 1_000, 3_000, 10_000] },
  { values: [9e12], ticks: [8.64e9, 8.64e10] },
])("a logarithmic axis for $values", ({ values, ticks }) => {
  const axis = logAxis(values);
  expect(axis.ticks.slice(0, ticks.length)).toEqual(ticks);
  for (const value of values) {
    expect(placeOnLog(axis, value)).toBeGreaterThanOrEqual(0);
    expect(placeOnLog(axis, value)).toBeLessThanOrEqual(1);
  }
});

test("places on it grow with the logarithm", () => {
  const axis = logAxis([100, 10_000]);
  expect([100, 1_000, 10_000].map((ms) => placeOnLog(axis, ms))).toEqual([0, 0.5, 1]);
});
