import { expect, test } from "vitest";
import { formatDuration, formatElapsed, formatLeft, formatTick } from "./format-duration.ts";

test.each([
  [0, "0 ms"],
  [-5, "0 ms"],
  [340.4, "340 ms"],
  [999.7, "1.0 s"],
  [3_449, "3.4 s"],
  [59_960, "1 min 00 s"],
  [125_000, "2 min 05 s"],
  [3_599_700, "1 h 00 min"],
  [11_520_000, "3 h 12 min"],
  [187_200_000, "2 d 4 h"],
  [Number.NaN, "–"],
])("%d ms is %s", (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test.each([
  [0, "0.0 s"],
  [3_499, "3.4 s"],
  [59_999, "59.9 s"],
  [60_999, "1 min 00 s"],
])("%d ms have gone by: %s", (ms, text) => {
  expect(formatElapsed(ms)).toBe(text);
});

test.each([
  [0, "1 s"],
  [7.2, "8 s"],
  [90, "1 min 30 s"],
])("%d seconds left: %s", (seconds, text) => {
  expect(formatLeft(seconds)).toBe(text);
});

test.each([
  [0, "0"],
  [300, "300 ms"],
  [3_000, "3 s"],
  [120_000, "2 min"],
  [7_200_000, "2 h"],
  [172_800_000, "2 d"],
])("on an axis %d ms is %s", (ms, text) => {
  expect(formatTick(ms)).toBe(text);
});
