import { expect, test } from "vitest";
import { createWindowedCounts } from "./windowed-counts.ts";

const minute = 60_000;
const hour = () => createWindowedCounts({ windowMs: 60 * minute, steps: 6 });

test("counts by key and expires counts older than the window", () => {
  const counts = hour();
  counts.add(0, ["", "a"], true);
  counts.add(30 * minute, ["", "b"], false);
  expect(counts.totals(59 * minute)).toEqual(
    new Map([
      ["", { bad: 1, total: 2 }],
      ["a", { bad: 1, total: 1 }],
      ["b", { bad: 0, total: 1 }],
    ]),
  );
  expect(counts.totals(60 * minute)).toEqual(
    new Map([
      ["", { bad: 0, total: 1 }],
      ["b", { bad: 0, total: 1 }],
    ]),
  );
  expect(counts.totals(90 * minute).size).toBe(0);
});

test("uses constant memory over a year", () => {
  const counts = hour();
  for (let now = 0; now < 365 * 24 * 60 * minute; now += 60 * minute) counts.add(now, ["a"], false);
  expect(counts.save()).toHaveLength(1);
});

test("expires future counts after the clock was set back", () => {
  const counts = hour();
  counts.add(1e12, ["a"], true);
  expect(counts.totals(1_000).size).toBe(0);
});

test("continues from saved counts", () => {
  const counts = hour();
  counts.add(0, ["a"], true);
  const saved = JSON.parse(JSON.stringify(counts.save()));
  const next = createWindowedCounts({ windowMs: 60 * minute, steps: 6, saved });
  next.add(minute, ["a"], false);
  expect(next.totals(minute)).toEqual(new Map([["a", { bad: 1, total: 2 }]]));
});
