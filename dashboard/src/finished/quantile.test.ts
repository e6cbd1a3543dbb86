import { expect, test } from "vitest";
import { quantile, summarize } from "./quantile.ts";

test.each([
  { sorted: [], part: 0.5, value: undefined },
  { sorted: [7], part: 0.9, value: 7 },
  { sorted: [1, 3], part: 0.5, value: 2 },
  { sorted: [0, 10, 20, 30, 40], part: 0.9, value: 36 },
  { sorted: [1, 2, 3], part: 1, value: 3 },
  { sorted: [1, 2, 3], part: 0, value: 1 },
])("the $part quantile of $sorted", ({ sorted, part, value }) => {
  expect(quantile(sorted, part)).toBe(value);
});

test("a summary sorts its values", () => {
  expect(summarize([3, 1, 2])).toMatchObject({ count: 3, p50: 2 });
  expect(summarize([])).toEqual({ count: 0, p50: undefined, p90: undefined, p99: undefined });
});
