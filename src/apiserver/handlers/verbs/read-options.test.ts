import { describe, expect, test } from "vitest";
import { encodeContinue } from "./continue-token.ts";
import { parseListOptions, parseWatchOptions } from "./read-options.ts";

const list = (query: string) => parseListOptions(new URLSearchParams(query));
const watch = (query: string) => parseWatchOptions(new URLSearchParams(query));
const base64 = (text: string) => Buffer.from(text).toString("base64url");
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
    expect(["limit=0", "limit=-1", "limit=3"].map((query) => list(query).limit)).toEqual([
      undefined,
      undefined,
      3,
    ]);
  });

  test.each([
    [
      "resourceVersionMatch=Exact",
      "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
    ],
    [
      "resourceVersion=0&resourceVersionMatch=Exact",
      'resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    ],
    [
      "resourceVersion=5&resourceVersionMatch=Nope",
      'resourceVersionMatch: Unsupported value: "Nope": supported values: "Exact", "NotOlderThan", ""',
    ],
    [
      `resourceVersion=5&resourceVersionMatch=Exact&continue=${token}`,
      "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided",
    ],
    ["sendInitialEvents=true", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"],
  ])("%j is refused", (query, message) => {
    const whole = `ListOptions.meta.k8s.io "" is invalid: ${message}`;
    expect(() => list(query)).toThrow(expect.objectContaining({ code: 422, message: whole }));
  });

  test.each([
    [`resourceVersion=5&continue=${token}`, "specifying resource version is not allowed when using continue"],
    [
      "resourceVersion=-1",
      'invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": invalid syntax',
    ],
    ["limit=x", 'strconv.ParseInt: parsing "x": invalid syntax'],
    ["limit=99999999999999999999", 'strconv.ParseInt: parsing "99999999999999999999": value out of range'],
    ["timeoutSeconds=1.5", 'strconv.ParseInt: parsing "1.5": invalid syntax'],
    ["continue=!", "invalid continue token: continue key is not valid: illegal base64 data at input byte 0"],
    [
      `continue=${base64('{"v":"v9","rv":5,"start":"x"}')}`,
      "invalid continue token: continue key is not valid: server does not recognize this encoded version v9",
    ],
    [
      `continue=${base64('{"v":"meta.k8s.io/v1","rv":0,"start":"x"}')}`,
      "invalid continue token: continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
    ],
    [
      `continue=${base64('{"v":"meta.k8s.io/v1","rv":5,"start":"../x"}')}`,
      "invalid continue token: continue key is not valid: ../x",
    ],
  ])("%j is not understood", (query, message) => {
    expect(() => list(query)).toThrow(expect.objectContaining({ code: 400, message }));
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
    ["sendInitialEvents=false&resourceVersionMatch=NotOlderThan", { kind: "changes" }],
    ["sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0", { kind: "changes" }],
  ])("%j", (query, start) => {
    expect(watch(query).start).toEqual(start);
  });

  test.each(["sendInitialEvents=true", "resourceVersion=5&resourceVersionMatch=Exact", "continue=x"])(
    "%j is refused",
    (query) => {
      expect(() => watch(query)).toThrow(expect.objectContaining({ code: 422 }));
    },
  );
});
