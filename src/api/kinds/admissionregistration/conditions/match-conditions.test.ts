import { expect, test } from "vitest";
import { type ConditionInput, compileCondition, evaluateConditions } from "./match-conditions.ts";

const input: ConditionInput = {
  object: { data: { a: "1" } },
  oldObject: undefined,
  request: { operation: "CREATE", userInfo: { username: "alice" } },
  authorize: (verb, check) => ({ allowed: verb === "get" && "group" in check, reason: "" }),
  requestResource: { group: "", resource: "pods", subresource: "", namespace: "a", name: "b" },
};
const match = (...expressions: string[]) => evaluateConditions(expressions.map(compileCondition), input);

const matches = { kind: "matches", errors: 0, message: "" } as const;
const failed = "expression 'object.x == 1' resulted in error: no such key: x";
const costly = "lists.range(300).all(x, lists.range(300).all(y, x + y >= 0))";

test.each<[expressions: string[], result: ReturnType<typeof match>]>([
  [["true", "object.data.a == '1' && oldObject == null"], matches],
  [["request.operation == 'CREATE' && request.userInfo.username == 'alice'"], matches],
  [["authorizer.requestResource.check('get').allowed()"], matches],
  [["authorizer.path('/').check('get').allowed()"], { ...matches, kind: "excluded" }],
  [["object.x == 1", "false", "object.y == 1"], { kind: "excluded", errors: 1, message: "" }],
  [["object.x == 1", "true"], { kind: "failed", errors: 1, message: failed }],
  [["object.x == 1", "object.x == 1"], { kind: "failed", errors: 2, message: failed }],
  [
    ["object.x == 1", "object.y == 1"],
    {
      kind: "failed",
      errors: 2,
      message: `[${failed}, expression 'object.y == 1' resulted in error: no such key: y]`,
    },
  ],
  [["1"], { kind: "failed", errors: 1, message: "compilation error: must evaluate to bool but got int" }],
  [[costly], matches],
  [
    ["false", ...Array(6).fill(costly)],
    {
      kind: "failed",
      errors: 0,
      message: "validation failed due to running out of cost budget, no further validation rules will be run",
    },
  ],
])("%j", (expressions, result) => {
  expect(match(...expressions)).toEqual(result);
});
