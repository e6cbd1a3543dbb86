import { expect, test } from "vitest";
import { matchesGlob } from "./glob.ts";

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
])("%j and %j: %j", (pattern, text, expected) => {
  expect(matchesGlob(pattern, text)).toBe(expected);
});

test("a hostile pattern is quick", () => {
  expect(matchesGlob("*a".repeat(50), `${"a".repeat(5_000)}b`)).toBe(false);
});
