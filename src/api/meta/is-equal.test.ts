import { expect, test } from "vitest";
import { isEqual } from "./is-equal.ts";

test.each([
  [1, 1, true],
  [1, "1", false],
  [undefined, null, true],
  [undefined, [], true],
  [[], undefined, true],
  [undefined, {}, false],
  [0, undefined, false],
  ["", undefined, false],
  [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
  [{ a: 1 }, { a: 1, b: [] }, true],
  [{ a: 1, b: undefined }, { a: 1 }, true],
  [{ a: 1 }, { a: 1, b: 0 }, false],
  [{ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }, true],
  [[1, 2], [2, 1], false],
  [[1], { 0: 1 }, false],
  [{}, [], false],
  [{ constructor: 1 }, {}, false],
])("isEqual(%j, %j) is %s", (a, b, expected) => {
  expect(isEqual(a, b)).toBe(expected);
  expect(isEqual(b, a)).toBe(expected);
});
