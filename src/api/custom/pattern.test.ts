import { beforeAll, expect, test } from "vitest";
import { compilePattern, loadPatternEngine, PatternSyntaxError } from "./pattern.ts";

beforeAll(loadPatternEngine);

test.each([
  ["^[a-z]+$", "abc", true],
  ["^[a-z]+$", "abC", false],
  ["b", "abc", true],
  ["(?i)^ABC$", "abc", true],
  ["^\\d{3}$", "123", true],
  ["^\\p{Greek}+$", "αβγ", true],
])("%s matches %s: %s", (pattern, value, expected) => {
  expect(compilePattern(pattern).test(value)).toBe(expected);
});

test.each(["a(", "(?=a)", "a{1001}", "\\1", "(a{1000}){1000}"])("%s is not RE2 syntax", (pattern) => {
  expect(() => compilePattern(pattern)).toThrow(PatternSyntaxError);
});

test.each(["^(a+)+$", "^(a|aa)*c$", "(x+x+)+y", "(?:.*a){20}z", "^(([a-z])+.)+[A-Z]([a-z])+$"])(
  "%s takes linear time",
  (pattern) => {
    // A backtracking engine would not finish.
    expect(compilePattern(pattern).test(`${"a".repeat(100_000)}!`)).toBe(false);
  },
);
