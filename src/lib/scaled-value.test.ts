import { expect, test } from "vitest";
import { scaledValue } from "./scaled-value.ts";

test.each([
  [3, 10, "up", 3],
  ["25%", 10, "up", 3],
  ["25%", 10, "down", 2],
  ["100%", 7, "down", 7],
  ["0%", 7, "up", 0],
  [undefined, 7, "up", 0],
  ["many", 7, "up", 0],
  ["25 %", 7, "up", 0],
] as const)("%s of %i, rounded %s, is %i", (value, total, round, expected) => {
  expect(scaledValue(value, total, round)).toBe(expected);
});
