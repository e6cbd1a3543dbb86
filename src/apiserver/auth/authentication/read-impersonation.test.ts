import { describe, expect, test } from "vitest";
import { readImpersonation } from "./impersonate.ts";

const plainUser = { username: "x", uid: "", groups: [], extra: {} };

describe("readImpersonation", () => {
  test.each([
    ["no header", [], undefined],
    ["other headers", ["Host", "x", "impersonate-", "x", "X-Remote-User", "admin"], undefined],
    ["an empty user", ["Impersonate-User", ""], undefined],
    ["a user", ["impersonate-USER", "x"], plainUser],
    ["the first of two users", ["Impersonate-User", "x", "Impersonate-User", "y"], plainUser],
    [
      "groups, one per header",
      ["Impersonate-User", "x", "Impersonate-Group", "a, system:masters", "Impersonate-Group", "b"],
      { ...plainUser, groups: ["a, system:masters", "b"] },
    ],
    ["a uid", ["Impersonate-User", "x", "Impersonate-Uid", "7"], { ...plainUser, uid: "7" }],
    [
      "extra fields",
      [
        "Impersonate-User",
        "x",
        "Impersonate-Extra-Acme.io%2FTeam",
        "a",
        "impersonate-extra-acme.io%2fteam",
        "b",
        "Impersonate-Extra-%zz",
        "c",
      ],
      { ...plainUser, extra: { "acme.io/team": ["a", "b"], "%zz": ["c"] } },
    ],
    [
      "bytes of UTF-8",
      ["Impersonate-User", Buffer.from("jürgen").toString("latin1")],
      { ...plainUser, username: "jürgen" },
    ],
  ])("%s", (_, headers, expected) => {
    expect(readImpersonation(headers)).toEqual(expected);
  });

  test("hostile keys are ordinary keys", () => {
    const wanted = readImpersonation(["Impersonate-User", "x", "Impersonate-Extra-__proto__", "a"]);
    expect(Object.keys(wanted?.extra ?? {})).toEqual(["__proto__"]);
  });

  test.each(["Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-a"])("%s needs a user", (header) => {
    expect(() => readImpersonation([header, "system:masters"])).toThrow(/without impersonating a user name/);
  });
});
