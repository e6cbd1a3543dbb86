import { describe, expect, test } from "vitest";
import { parseLabelSelector } from "./parse-label-selector.ts";
import { formatLabelSelector, labelSelectorOf, matchesLabels, requiredLabelValue } from "./selector.ts";

describe("matchesLabels", () => {
  const labels = { app: "web", tier: "front", size: "10", empty: "" };
  test.each([
    ["", true],
    ["app=web", true],
    ["app==web", true],
    ["app=db", false],
    ["app!=db", true],
    ["missing!=db", true],
    ["app", true],
    ["missing", false],
    ["!missing", true],
    ["!app", false],
    ["app in (web,db),tier=front", true],
    ["app in (web,db),tier=back", false],
    ["app notin (db)", true],
    ["missing notin (db)", true],
    ["missing in (db)", false],
    ["empty=", true],
    ["empty in ()", true],
    ["size>9", true],
    ["size>10", false],
    ["size<11", true],
    ["app>1", false],
    ["missing<1", false],
    ["constructor", false],
    ["!toString", true],
  ])("%j: %s", (selector, expected) => {
    expect(matchesLabels(parseLabelSelector(selector), labels)).toBe(expected);
  });

  test("an object without labels has none", () => {
    expect(matchesLabels(parseLabelSelector("a"), undefined)).toBe(false);
    expect(matchesLabels(parseLabelSelector("!a"), undefined)).toBe(true);
  });
});

describe("labelSelectorOf", () => {
  test.each([
    [{}, ""],
    [{ matchLabels: { b: "2", a: "1" } }, "a=1,b=2"],
    [
      {
        matchLabels: { app: "web" },
        matchExpressions: [
          { key: "z", operator: "In", values: ["y", "x"] },
          { key: "n", operator: "NotIn", values: ["1"] },
          { key: "e", operator: "Exists" },
          { key: "d", operator: "DoesNotExist" },
        ],
      },
      "app=web,!d,e,n notin (1),z in (x,y)",
    ],
  ])("%j", (selector, text) => {
    expect(formatLabelSelector(labelSelectorOf(selector) ?? [])).toBe(text);
  });

  test("a missing selector matches nothing, and an unknown operator is rejected", () => {
    expect(labelSelectorOf(undefined)).toBeUndefined();
    expect(() => labelSelectorOf({ matchExpressions: [{ key: "a", operator: "Maybe" }] })).toThrow(
      '"Maybe" is not a valid label selector operator',
    );
  });
});

test.each([
  ["app=web", "web"],
  ["app in (web)", "web"],
  ["app in (web,db)", undefined],
  ["app!=web", undefined],
  ["tier=web", undefined],
])("requiredLabelValue of %s", (selector, value) => {
  expect(requiredLabelValue(parseLabelSelector(selector), "app")).toBe(value);
});
