import { expect, test } from "vitest";
import { formatGoDuration, parseGoDuration } from "./go-duration.ts";

test.each([
  ["0", 0],
  ["0s", 0],
  ["-0", -0],
  ["10s", 10_000],
  ["1m30s", 90_000],
  ["1h0m0s", 3_600_000],
  ["1.5h", 5_400_000],
  [".5s", 500],
  ["1.s", 1_000],
  ["100ms", 100],
  ["1500us", 1.5],
  ["2µs", 0.002],
  ["-2s", -2_000],
  ["+2s", 2_000],
])("reads %s", (text, ms) => {
  expect(parseGoDuration(text)).toBeCloseTo(ms, 9);
});

test.each([
  "",
  "-",
  "s",
  "10",
  "1d",
  "10 s",
  "1m 30s",
  "1..5s",
  ".s",
  "ten",
  "1toString",
  "9999999999999h",
  "1s".repeat(60),
])("rejects %j", (text) => {
  expect(parseGoDuration(text)).toBeUndefined();
});

test.each([
  [0, "0s"],
  [0.9, "0s"],
  [850, "850ms"],
  [999.9, "999ms"],
  [1_000, "1s"],
  [1_200, "1.2s"],
  [1_234, "1.234s"],
  [60_000, "1m0s"],
  [90_500, "1m30.5s"],
  [3_600_000, "1h0m0s"],
  [300_000, "5m0s"],
  [-1_500, "-1.5s"],
])("prints %d ms as %s", (ms, text) => {
  expect(formatGoDuration(ms)).toBe(text);
});
