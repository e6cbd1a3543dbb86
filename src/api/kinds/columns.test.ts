import { expect, test } from "vitest";
import { formatLabels, formatSelector } from "./columns.ts";

test.each([
  [undefined, "<none>"],
  [{}, "<none>"],
  [{ tier: "front", app: "web" }, "app=web,tier=front"],
])("labels %j", (labels, expected) => {
  expect(formatLabels(labels)).toBe(expected);
});

test.each([
  [undefined, ""],
  [{}, ""],
  [{ matchLabels: { b: "2", a: "1" } }, "a=1,b=2"],
  [
    {
      matchLabels: { m: "1" },
      matchExpressions: [
        { key: "z", operator: "In", values: ["y", "x"] },
        { key: "a", operator: "NotIn", values: ["v"] },
        { key: "k", operator: "Exists" },
        { key: "n", operator: "DoesNotExist" },
      ],
    },
    "a notin (v),k,m=1,!n,z in (x,y)",
  ],
])("selector %j", (selector, expected) => {
  expect(formatSelector(selector)).toBe(expected);
});
