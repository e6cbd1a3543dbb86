import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findDuplicateKeys } from "./strict-errors.ts";

function find(text: string): string[] {
  return findDuplicateKeys(text, JSON.parse(text));
}

describe("findDuplicateKeys", () => {
  test.each<[string, string[]]>([
    ["{}", []],
    ['"a"', []],
    ['{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}', []],
    ['{"a":1,"a":2}', ["a"]],
    ['{"a":1,"a":2,"a":3}', ["a"]],
    ['{"a":{"b":1,"b":2}}', ["a.b"]],
    ['{"a":[0,{"b":1 , "b"\n:2}],"c":1}', ["a[1].b"]],
    ['[[{"a":1,"a":2}]]', ["[0][0].a"]],
    ['{"a":1,"\\u0061":2}', ["a"]],
    [String.raw`{"a\"b":1,"c":"\\","a\"b":"}"}`, ['a"b']],
    ['{"__proto__":1,"__proto__":2}', ["__proto__"]],
    ['{"a":"b\\":","c":"x,\\"a\\":1"}', []],
  ])("%s has %j", (text, paths) => {
    expect(find(text)).toEqual(paths);
  });

  test("finds none in the output of JSON.stringify", () => {
    fc.assert(fc.property(fc.json(), (text) => find(JSON.stringify(JSON.parse(text))).length === 0));
  });

  test("handles deep and wide input in linear time without recursion", () => {
    const depth = 100_000;
    expect(find(`${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`)).toEqual([]);
    const wide = Array.from({ length: depth }, (_, i) => `"k${i}":1`).join();
    expect(find(`{${wide},"k7":2}`)).toEqual(["k7"]);
  });
});
