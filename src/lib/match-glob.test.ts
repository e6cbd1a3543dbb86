import { expect, test } from "vitest";
import { matchGlob } from "./match-glob.ts";

test.each([
  ["abc", "abc", true],
  ["abc", "abd", false],
  ["*", "", true],
  ["*", "abc", true],
  ["a*", "abc", true],
  ["*c", "abc", true],
  ["a*c", "abbc", true],
  ["a*b*c", "aXbXbXc", true],
  ["a*b", "abc", false],
  ["**", "a", true],
  ["?", "a", true],
  ["?", "", false],
  ["a?c", "abc", true],
  ["[ab]c", "bc", true],
  ["[a-c]d", "bd", true],
  ["[a-c]d", "xd", false],
  ["[^a-c]d", "xd", true],
  ["[^a-c]d", "ad", false],
  ["\\*", "*", true],
  ["\\*", "a", false],
  ["[\\]]", "]", true],
  ["", "", true],
  ["", "a", false],
  ["[", "[", false],
  ["[]", "]", false],
  ["[a", "a", false],
  ["a\\", "a", false],
])("%s and %s: %s", (pattern, text, matches) => {
  expect(matchGlob(pattern, text)).toBe(matches);
});

test("a hostile pattern takes no longer than its length", () => {
  expect(matchGlob(`${"*a".repeat(5_000)}b`, "a".repeat(10_000))).toBe(false);
});

test.each([
  ["web-0", "web-0", true],
  ["web-0", "web-01", false],
  ["web-*", "web-0", true],
  ["web-*", "web", false],
  ["*", "", true],
  ["", "", true],
  ["", "x", false],
  ["?", "", false],
  ["web-?", "web-7", true],
  ["*/busybox:*", "docker.io/library/busybox:1.36", true],
  ["*b*c", "abbcbc", true],
  ["*b*c", "abbcb", false],
  ["a.c", "abc", false],
  ["**a**", "bab", true],
])("matches %j against %j: %j", (pattern, text, expected) => {
  expect(matchGlob(pattern, text)).toBe(expected);
});

test("matches a pattern with many stars in polynomial time", () => {
  expect(matchGlob("*a".repeat(50), `${"a".repeat(5_000)}b`)).toBe(false);
});
