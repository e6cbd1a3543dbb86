import { expect, test } from "vitest";
import { isNewerVersion } from "./object-facts.ts";

test.each([
  ["11", "10", true],
  ["10", "11", false],
  ["10", "10", false],
  ["100", "99", true],
  ["99999999999999999999999", "9", true],
  ["1", undefined, true],
  [undefined, "1", false],
  ["abc", "1", false],
  ["1", "abc", true],
])("%s is newer than %s: %s", (version, than, expected) => {
  expect(isNewerVersion(version, than)).toBe(expected);
});
