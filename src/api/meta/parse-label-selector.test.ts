import { describe, expect, test } from "vitest";
import { cpuTimeMs } from "../../../test/support/time/cpu-time.ts";
import { parseLabelSelector } from "./parse-label-selector.ts";
import { formatLabelSelector } from "./selector.ts";

describe("valid selectors", () => {
  test.each([
    ["", ""],
    [" ", ""],
    ["a=b", "a=b"],
    ["x=a,y=b,z=c", "x=a,y=b,z=c"],
    ["z,a", "a,z"],
    ["a == b , c", "a==b,c"],
    ["a!=b", "a!=b"],
    ["!a", "!a"],
    ["a in (c,b)", "a in (b,c)"],
    ["a in ( b , c )", "a in (b,c)"],
    ["a notin(b)", "a notin (b)"],
    ["a in ()", "a in ()"],
    ["a in (,b)", "a in (,b)"],
    ["a in (b,)", "a in (,b)"],
    ["a in (in,notin)", "a in (in,notin)"],
    ["in", "in"],
    ["in in (in)", "in in (in)"],
    ["a>1,b<2", "a>1,b<2"],
    ["a=", "a="],
    ["a=,b", "a=,b"],
    ["example.com/a=b", "example.com/a=b"],
  ])("%j", (text, formatted) => {
    expect(formatLabelSelector(parseLabelSelector(text))).toBe(formatted);
  });
});

describe("invalid selectors have the errors of upstream", () => {
  test.each([
    [",", "found ',', expected: !, identifier, or 'end of string'"],
    ["a=b,", "found '', expected: identifier after ','"],
    ["a=b c", "found 'c', expected: ',' or 'end of string'"],
    ["!a=b", "found '=', expected: ',' or 'end of string'"],
    ["=", "found '=', expected: !, identifier, or 'end of string'"],
    ["!", "unable to parse requirement: found '', expected: identifier"],
    ["a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ["a=(", "unable to parse requirement: found '(', expected: identifier"],
    ["a in b", "unable to parse requirement: found 'b' expected: '('"],
    ["a in (b", "unable to parse requirement: found '', expected: ',' or ')'"],
    ["a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"],
    ["a in (b,=", "unable to parse requirement: found '=', expected: ',', or identifier"],
    [
      "a>b",
      "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
    ],
    [
      "a=-b",
      "unable to parse requirement: values[0][a]: Invalid value: \"-b\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    ],
    [
      "-a=b",
      "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
  ])("%j", (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(message);
  });
});

test("a huge selector is read in linear time", () => {
  const started = cpuTimeMs();
  parseLabelSelector(Array.from({ length: 20_000 }, (_, i) => `key${i}=v`).join(","));
  parseLabelSelector(`a in (${"b,".repeat(50_000)})`);
  expect(cpuTimeMs() - started).toBeLessThan(1000);
});
