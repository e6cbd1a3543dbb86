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

test("an object without status has no condition", () => {
  expect(hasCondition("Ready=False")({ apiVersion: "v1", kind: "Pod", metadata: {} })).toBe(false);
});

test.each(["", "Ready=", "Ready=false", "is ready", "=True"])("rejects %j", (condition) => {
  expect(() => hasCondition(condition)).toThrow(/is not a condition: use Type or Type=Status/);
});
