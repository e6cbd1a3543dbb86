import { expect, test } from "vitest";
import { describeRefusal, tokenProblem } from "./login.ts";

test.each([
  ["", /^The token is empty/],
  ["apiVersion: v1 kind: Config", /^A token contains no spaces/],
  ["eyJh.eyJl.c2ln", undefined],
])("describes the input %j as %s", (pasted, problem) => {
  const described = tokenProblem(pasted);
  if (problem) expect(described).toMatch(problem);
  else expect(described).toBeUndefined();
});

const jwt = (claims: object) => `x.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.x`;
const now = 10_000_000;

test.each([
  ["expired", jwt({ exp: 2_800 }), "This token expired 120m ago. Create a new one."],
  ["not expired", jwt({ exp: 20_000 }), /^The cluster does not accept this token\. /],
  ["without expiry", jwt({}), /^The cluster does not accept this token\. /],
  ["with an invalid expiry", jwt({ exp: "soon" }), /^The cluster does not accept this token\. /],
  ["not a JWT", "abc", /^The cluster does not accept this token\. /],
  ["not JSON", "a.b.c", /^The cluster does not accept this token\. /],
])("describes an unauthenticated token: %s", (_, token, text) => {
  const described = describeRefusal({ kind: "unauthenticated" }, { token, now });
  if (typeof text === "string") expect(described).toBe(text);
  else expect(described).toMatch(text);
});

test("names the user and the missing permission", () => {
  expect(describeRefusal({ kind: "forbidden", user: "jane" }, { token: "t", now })).toMatch(
    /^User jane is not allowed .* get the non-resource URL \/kindling\/dashboard\.$/,
  );
  expect(describeRefusal({ kind: "unavailable" }, { token: "t", now })).toMatch(/Try again/);
});
