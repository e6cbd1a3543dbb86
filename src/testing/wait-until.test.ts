import { expect, test } from "vitest";
import { hasCondition } from "./wait-until.ts";

const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: {},
  status: {
    conditions: [
      { type: "Ready", status: "False" },
      { type: "example.com/gate", status: "True" },
    ],
  },
};

test.each([
  ["Ready", false],
  ["Ready=True", false],
  ["Ready=False", true],
  ["example.com/gate", true],
  ["Other", false],
])("%s: %s", (condition, expected) => {
  expect(hasCondition(condition)(pod)).toBe(expected);
});

test("nothing has a condition before it has a status", () => {
  expect(hasCondition("Ready=False")({ apiVersion: "v1", kind: "Pod", metadata: {} })).toBe(false);
});

test.each(["", "Ready=", "Ready=false", "is ready", "=True"])("%j is none", (condition) => {
  expect(() => hasCondition(condition)).toThrow(/is no condition: write Type or Type=Status/);
});
