import { expect, test } from "vitest";
import { describeRefusal, faultOf } from "./refusal.ts";

test.each([
  ["", /^The field was empty/],
  ["apiVersion: v1 kind: Config", /^A token has no spaces/],
  ["eyJh.eyJl.c2ln", undefined],
])("%j alone tells %s", (pasted, fault) => {
  const told = faultOf(pasted);
  if (fault) expect(told).toMatch(fault);
  else expect(told).toBeUndefined();
});

const jwt = (claims: object) => `x.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.x`;
const now = 10_000_000;

test.each([
  ["one that has ended", jwt({ exp: 2_800 }), "This token ended 120m ago: make a new one."],
  ["one that still holds", jwt({ exp: 20_000 }), /^The cluster does not know this token: /],
  ["one without an end", jwt({}), /^The cluster does not know this token: /],
  ["one whose end is no time", jwt({ exp: "soon" }), /^The cluster does not know this token: /],
  ["no JWT", "abc", /^The cluster does not know this token: /],
  ["not even JSON", "a.b.c", /^The cluster does not know this token: /],
])("an unknown token, %s", (_, token, text) => {
  const told = describeRefusal({ kind: "unknown" }, { token, now });
  if (typeof text === "string") expect(told).toBe(text);
  else expect(told).toMatch(text);
});

test("who may not look is named, with what is missing", () => {
  expect(describeRefusal({ kind: "forbidden", user: "jane" }, { token: "t", now })).toMatch(
    /^jane is known .* get the non-resource URL \/kindling\/dashboard\.$/,
  );
  expect(describeRefusal({ kind: "unavailable" }, { token: "t", now })).toMatch(/try again/);
});
