import { describe, expect, test } from "vitest";
import { readImpersonation } from "./read-impersonation.ts";

const nobody = { username: "x", uid: "", groups: [], extra: {} };

describe("readImpersonation", () => {
  test.each([
    ["no header", [], undefined],
    ["other headers", ["Host", "x", "impersonate-", "x", "X-Remote-User", "admin"], undefined],
    ["an empty user", ["Impersonate-User", ""], undefined],
    ["a user", ["impersonate-USER", "x"], nobody],
    ["the first of two users", ["Impersonate-User", "x", "Impersonate-User", "y"], nobody],
    [
      "groups, each by itself",
      ["Impersonate-User", "x", "Impersonate-Group", "a, system:masters", "Impersonate-Group", "b"],
      { ...nobody, groups: ["a, system:masters", "b"] },
    ],
    ["a uid", ["Impersonate-User", "x", "Impersonate-Uid", "7"], { ...nobody, uid: "7" }],
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
      { ...nobody, extra: { "acme.io/team": ["a", "b"], "%zz": ["c"] } },
    ],
    [
      "bytes of UTF-8",
      ["Impersonate-User", Buffer.from("jürgen").toString("latin1")],
      { ...nobody, username: "jürgen" },
    ],
  ])("%s", (_, headers, expected) => {
    expect(readImpersonation(headers)).toEqual(expected);
  });

  test("a hostile key is a key like any other", () => {
    const wanted = readImpersonation(["Impersonate-User", "x", "Impersonate-Extra-__proto__", "a"]);
    expect(Object.keys(wanted?.extra ?? {})).toEqual(["__proto__"]);
  });

  test.each(["Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-a"])("%s needs a user", (header) => {
    expect(() => readImpersonation([header, "system:masters"])).toThrow(/without impersonating a user name/);
  });
});
