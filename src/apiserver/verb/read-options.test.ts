import { describe, expect, test } from "vitest";
import { encodeContinue } from "./continue-token.ts";
import { parseListOptions, parseWatchOptions } from "./read-options.ts";

const list = (query: string) => parseListOptions(new URLSearchParams(query));
const watch = (query: string) => parseWatchOptions(new URLSearchParams(query));
const token = encodeContinue({ revision: 7, after: "a/b" });

describe("lists", () => {
  test.each([
    ["", { kind: "latest" }],
    ["resourceVersion=0", { kind: "any" }],
    ["resourceVersion=5", { kind: "notOlderThan", revision: 5 }],
    ["resourceVersion=5&resourceVersionMatch=NotOlderThan&limit=9", { kind: "notOlderThan", revision: 5 }],
    ["resourceVersion=5&limit=9", { kind: "exact", revision: 5 }],
    ["resourceVersion=5&resourceVersionMatch=Exact", { kind: "exact", revision: 5 }],
    ["resourceVersion=0&limit=9", { kind: "any" }],
    [`continue=${token}`, { kind: "continue", token: { revision: 7, after: "a/b" } }],
  ])("%j", (query, time) => {
    expect(list(query).time).toEqual(time);
  });

  test("a limit of 0 is none", () => {
    expect([list("limit=0").limit, list("limit=3").limit]).toEqual([undefined, 3]);
  });

  test.each([
    "resourceVersionMatch=Exact",
    "resourceVersion=0&resourceVersionMatch=Exact",
    "resourceVersion=5&resourceVersionMatch=Nope",
    `resourceVersion=5&continue=${token}`,
    `resourceVersionMatch=Exact&continue=${token}`,
    "resourceVersion=-1",
    "resourceVersion=1e3",
    "limit=-1",
    "limit=x",
    "continue=!",
    "sendInitialEvents=true",
  ])("%j is refused", (query) => {
    expect(() => list(query)).toThrow(expect.objectContaining({ code: 400 }));
  });
});

describe("watches", () => {
  test.each([
    ["", { kind: "fromNow" }],
    ["resourceVersion=0", { kind: "any" }],
    ["resourceVersion=5", { kind: "after", revision: 5 }],
    ["sendInitialEvents=true&resourceVersionMatch=NotOlderThan", { kind: "initialEvents", revision: 0 }],
    [
      "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=5",
      { kind: "initialEvents", revision: 5 },
    ],
    [
      "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=5",
      { kind: "after", revision: 5 },
    ],
  ])("%j", (query, start) => {
    expect(watch(query).start).toEqual(start);
  });

  test.each(["sendInitialEvents=true", "resourceVersion=5&resourceVersionMatch=Exact", "timeoutSeconds=-1"])(
    "%j is refused",
    (query) => {
      expect(() => watch(query)).toThrow(expect.objectContaining({ code: 400 }));
    },
  );
});
