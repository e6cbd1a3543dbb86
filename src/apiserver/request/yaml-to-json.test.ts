import { describe, expect, test } from "vitest";
import { cpuTimeMs } from "../../../test/support/time/cpu-time.ts";
import { readYaml, yamlToJson } from "./yaml-to-json.ts";

test.each([
  ["a: 1\nb: [x, {c: d}]\n", { a: 1, b: ["x", { c: "d" }] }],
  ["- - - x\n", [[["x"]]]],
  ["a: &x {n: 1}\nb: *x\n", { a: { n: 1 }, b: { n: 1 } }],
  ["a: |\n  [[[[\n  {{{{\n", { a: "[[[[\n{{{{\n" }],
  ["", null],
])("%j", (text, expected) => {
  expect(JSON.parse(yamlToJson(text))).toEqual(expected);
});

test.each([
  ["a: 1\nb: 2\n", []],
  ["\na: 1\na: 2\n", ['line 3: key "a" already set in map']],
  ["a: {b: 1, b: 2}\nc:\n- d: 1\n  d: 2\n", ["line 1", "line 4"]],
  ["a: 1\na:\n  b: 1\n  b: 2\n", ['line 4: key "b"', 'line 3: key "a"']],
  ["1: x\n1: y\ntrue: x\n", ["line 2: key 1 already"]],
  ['{"a":1,"a":\n2}', ['line 2: key "a"']],
])("duplicate keys of %j", (text, expected) => {
  expect(readYaml(text).duplicates).toEqual(expected.map((part) => expect.stringContaining(part)));
});

test("a long text block is small", () => {
  const text = "x\n".repeat(400_000);
  const yaml = `data:\n  script: |\n${text.replaceAll(/^x/gm, "    x")}`;
  expect(JSON.parse(yamlToJson(yaml)).data.script).toBe(text);
});

describe("rejected without a delay", () => {
  test.each([
    ["syntax", "a: [", "Flow sequence"],
    ["brackets", "[".repeat(100_000), "exceeded max depth"],
    ["flow maps", '{"a":'.repeat(100_000), "exceeded max depth"],
    ["dashes", "- ".repeat(100_000), "exceeded max depth"],
    ["questions", "? ".repeat(100_000), "exceeded max depth"],
    [
      "stairs",
      Array.from({ length: 1_000 }, (_, i) => `${" ".repeat(i)}a:`).join("\n"),
      "exceeded max depth",
    ],
    ["lines", "- x\n".repeat(500_000), "too large"],
    ["commas", `[${",".repeat(24_000)}]`, "Unexpected ,"],
    ["quotes", '"'.repeat(24_001), "Unexpected double-quoted-scalar"],
    ["a cycle", "&a [*a]", "circular"],
    [
      "aliases",
      `a: &a [x,x,x,x,x,x,x,x,x,x]\n${"bcdefghi".replaceAll(/./g, (key) => `${key}: &${key} [${`*${String.fromCharCode(key.charCodeAt(0) - 1)},`.repeat(10)}]\n`)}`,
      "alias",
    ],
  ])("%s", (_, text, reason) => {
    const start = cpuTimeMs();
    expect(() => yamlToJson(text)).toThrow(reason);
    expect(cpuTimeMs() - start).toBeLessThan(5_000);
  });
});
