import { expect, test } from "vitest";
import { indexSetOf, parseIndexSet } from "./index-set.ts";

test("is written as upstream writes it", () => {
  expect(`${indexSetOf([5, 1, 2, 7, 8, 9, 1])}`).toBe("1,2,5,7-9");
  expect(`${indexSetOf([])}`).toBe("");
});

test("is read up to the completions, without malformed intervals", () => {
  expect(`${parseIndexSet("0-2,x,4,8-12,20", 10)}`).toBe("0-2,4,8,9");
  expect(parseIndexSet("0-2,4", 10).size).toBe(4);
  expect(parseIndexSet(undefined, 10).size).toBe(0);
});

test("finds members, common and missing indexes", () => {
  const set = parseIndexSet("0-2,5", 10);
  expect([0, 2, 3, 5, 6].map((index) => set.has(index))).toEqual([true, true, false, true, false]);
  expect(set.countCommon(parseIndexSet("2-5", 10))).toBe(2);
  expect(set.firstMissing(3, 10)).toEqual([3, 4, 6]);
  expect(set.firstMissing(9, 7)).toEqual([3, 4, 6]);
  expect(`${set.union(parseIndexSet("3-4", 10))}`).toBe("0-5");
});
