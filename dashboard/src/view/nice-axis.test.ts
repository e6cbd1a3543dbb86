import { expect, test } from "vitest";
import { linearTicks, logAxis, niceCeiling, placeOnLog, timeTicks } from "./nice-axis.ts";

test.each([
  [0, 1],
  [1_001, 2_000],
  [30_001, 60_000],
  [7 * 3_600_000, 8 * 3_600_000],
  [9e12, 9e12],
])("the axis for %d ms ends at %d", (ms, end) => {
  expect(niceCeiling(ms)).toBe(end);
});

test("places ticks at round times, from 0", () => {
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

test("positions are logarithmic", () => {
  const axis = logAxis([100, 10_000]);
  expect([100, 1_000, 10_000].map((ms) => placeOnLog(axis, ms))).toEqual([0, 0.5, 1]);
});

const at = (time: string) => new Date(`2026-03-01T${time}`).getTime();

test.each([
  { from: "10:01:00", to: "10:56:00", most: 5, labels: "10:20 10:40" },
  { from: "10:00:03", to: "10:00:44", most: 4, labels: "10:00:20 10:00:40" },
  { from: "10:00:00", to: "10:00:00", most: 4, labels: "10:00:00" },
])("from $from to $to: $labels", ({ from, to, most, labels }) => {
  const ticks = timeTicks(at(from), at(to), most);
  expect(ticks.map(({ label }) => label).join(" ")).toBe(labels);
});

test("shows the date on axes longer than a day", () => {
  const ticks = timeTicks(at("00:00:00"), at("00:00:00") + 6 * 86_400_000, 3);
  expect(ticks[0]?.label).toMatch(/^\d\d\.\d\d\.$/);
  expect(ticks.length).toBeLessThanOrEqual(4);
});
