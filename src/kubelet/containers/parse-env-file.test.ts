import { describe, expect, test } from "vitest";
import { parseEnvFile } from "./parse-env-file.ts";

describe("parseEnvFile", () => {
  test.each([
    ["A='1'", "1"],
    ["  A='1'   # why", "1"],
    ["# A='0'\n\n \t\nA='1'\n", "1"],
    ["B='x'\nA='1'\nA='2'", "1"],
    ["A='$(B) \"x\" \\n'", '$(B) "x" \\n'],
    ["A='one\ntwo'\nB='x'", "one\ntwo"],
    ["B='one\nA=two'\nA='1'", "1"],
    ["A=''", ""],
    ["A= '1'", ""],
    ["B= '1'\nA='2'", "2"],
    ["B='x'", undefined],
    ["", undefined],
  ])("%j", (text, value) => {
    expect(parseEnvFile(text, "A")).toBe(value);
  });

  test.each([
    ["A", "at line 1: missing '='"],
    ["='1'", "at line 1: empty variable name"],
    ["B='x\ny'\nA ='1'", "at line 3: whitespace before '=' is not allowed"],
    ["A=1", "at line 1: value must be enclosed in single quotes"],
    ["A='1' B='2'", "at line 1: unexpected content after closing quote"],
    ["A='1\n2", "starting at line 1: unclosed single quote"],
  ])("%j is refused", (text, message) => {
    expect(() => parseEnvFile(text, "A")).toThrow(`invalid environment variable format ${message}`);
  });
});
