import { expect, test } from "vitest";
import { timeTicks } from "./time-ticks.ts";

const at = (time: string) => new Date(`2026-03-01T${time}`).getTime();

test.each([
  { from: "10:01:00", to: "10:56:00", most: 5, labels: "10:20 10:40" },
  { from: "10:00:03", to: "10:00:44", most: 4, labels: "10:00:20 10:00:40" },
  { from: "10:00:00", to: "10:00:00", most: 4, labels: "10:00:00" },
])("from $from to $to: $labels", ({ from, to, most, labels }) => {
  const ticks = timeTicks(at(from), at(to), most);
  expect(ticks.map(({ label }) => label).join(" ")).toBe(labels);
});

test("over days the date is shown", () => {
  const ticks = timeTicks(at("00:00:00"), at("00:00:00") + 6 * 86_400_000, 3);
  expect(ticks[0]?.label).toMatch(/^\d\d\.\d\d\.$/);
  expect(ticks.length).toBeLessThanOrEqual(4);
});
