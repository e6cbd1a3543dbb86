import { describe, expect, test } from "vitest";
import {
  formatFieldSelector,
  matchesFields,
  parseFieldSelector,
  requiredFieldValue,
} from "./field-selector.ts";

const fields: Record<string, string> = { "spec.nodeName": "a", "status.phase": "Running", odd: "x,y=\\z" };
const read = (field: string) => fields[field] ?? "";

describe("field selectors match", () => {
  test.each([
    ["", true],
    [",", true],
    ["spec.nodeName=a", true],
    ["spec.nodeName==a", true],
    ["spec.nodeName!=a", false],
    ["spec.nodeName=a,status.phase!=Running", false],
    ["status.phase!=Pending", true],
    ["spec.nodeName=", false],
    ["missing=", true],
    ["odd=x\\,y\\=\\\\z", true],
  ])("%j: %s", (text, expected) => {
    expect(matchesFields(parseFieldSelector(text), read)).toBe(expected);
  });
});

test.each([
  ["a", "invalid selector: 'a'; can't understand 'a'"],
  ["a=b=c", "invalid field selector: unescaped character in value: 61"],
  ["a=\\x", "invalid field selector: invalid escape sequence: \\x"],
  ["a=b\\", "invalid field selector: invalid escape sequence: \\"],
])("%j is refused", (text, message) => {
  expect(() => parseFieldSelector(text)).toThrow(message);
});

test("writing and reading again gives the same selector", () => {
  const selector = parseFieldSelector("b=1\\,2,a!=\\=");
  expect(formatFieldSelector(selector)).toBe("a!=\\=,b=1\\,2");
  expect(parseFieldSelector(formatFieldSelector(selector))).toEqual(selector);
});

test("requiredFieldValue returns the value of an equality requirement", () => {
  const selector = parseFieldSelector("spec.nodeName=a,status.phase!=Failed");
  expect(requiredFieldValue(selector, "spec.nodeName")).toBe("a");
  expect(requiredFieldValue(selector, "status.phase")).toBeUndefined();
});
