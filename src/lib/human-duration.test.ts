import { expect, test } from "vitest";
import { ageOf, humanDuration } from "./human-duration.ts";

const s = 1_000;
const m = 60 * s;
const h = 60 * m;
const d = 24 * h;
const y = 365 * d;

test.each([
  [-2 * s, "<invalid>"],
  [-2 * s + 1, "0s"],
  [-1, "0s"],
  [0, "0s"],
  [999, "0s"],
  [119 * s + 999, "119s"],
  [2 * m, "2m"],
  [5 * m, "5m"],
  [5 * m + 30 * s, "5m30s"],
  [9 * m + 59 * s, "9m59s"],
  [10 * m + 59 * s, "10m"],
  [179 * m, "179m"],
  [3 * h, "3h"],
  [3 * h + 59 * s, "3h"],
  [7 * h + 59 * m, "7h59m"],
  [8 * h + 59 * m, "8h"],
  [47 * h + 59 * m, "47h"],
  [2 * d, "2d"],
  [3 * d + 4 * h, "3d4h"],
  [7 * d + 23 * h, "7d23h"],
  [8 * d + 23 * h, "8d"],
  [2 * y - 1, "729d"],
  [2 * y, "2y"],
  [2 * y + 3 * d, "2y3d"],
  [8 * y + 300 * d, "8y"],
  [Number.NaN, "<invalid>"],
])("%d ms is %s", (ms, expected) => {
  expect(humanDuration(ms)).toBe(expected);
});

test.each([
  [undefined, "<unknown>"],
  [null, "<unknown>"],
  ["2026-01-01T00:00:00Z", "90s"],
  ["2026-01-01T00:00:00.000000Z", "90s"],
  ["2026-01-01T01:00:00+01:00", "90s"],
  ["2027-01-01T00:00:00Z", "<invalid>"],
])("the age of %j is %s", (timestamp, expected) => {
  expect(ageOf(timestamp, Date.parse("2026-01-01T00:01:30Z"))).toBe(expected);
});
