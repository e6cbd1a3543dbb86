import { expect, test } from "vitest";
import { type Impersonation, impersonationHeaders, impersonationProblem } from "./impersonation.ts";

test.each<[string, Impersonation, Record<string, string | string[]>]>([
  ["nothing", {}, {}],
  ["a user", { user: "jane" }, { "impersonate-user": "jane" }],
  [
    "everything",
    { user: "jane", uid: "7", groups: ["a", "b"], extra: { "Example.org/Scope": ["x", "y"] } },
    {
      "impersonate-user": "jane",
      "impersonate-uid": "7",
      "impersonate-group": ["a", "b"],
      "impersonate-extra-example.org%2Fscope": ["x", "y"],
    },
  ],
])("headers for %s", (_, impersonation, headers) => {
  expect(impersonationHeaders(impersonation)).toEqual(headers);
});

test.each<[Impersonation, boolean]>([
  [{}, false],
  [{ user: "jane", groups: ["a"] }, false],
  [{ groups: [] }, false],
  [{ groups: ["a"] }, true],
  [{ uid: "7" }, true],
  [{ extra: { a: ["b"] } }, true],
])("%j has a problem: %s", (impersonation, hasProblem) => {
  expect(impersonationProblem(impersonation) !== undefined).toBe(hasProblem);
});
