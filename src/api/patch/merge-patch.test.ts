import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "../schema/json-object.ts";
import { applyMergePatch } from "./merge-patch.ts";

describe("applyMergePatch", () => {
  test.each<[JsonObject, JsonObject, JsonObject]>([
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b", b: 1 }, { a: null }, { b: 1 }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    [{ a: "x" }, { a: { b: null, c: 1 } }, { a: { c: 1 } }],
    [{}, { a: [{ b: null, c: 1 }, null] }, { a: [{ c: 1 }, null] }],
  ])("%j with %j is %j", (target, patch, expected) => {
    const [targetBefore, patchBefore] = structuredClone([target, patch]);
    expect(applyMergePatch(target, patch)).toEqual(expected);
    expect([target, patch]).toEqual([targetBefore, patchBefore]);
  });

  test("hostile keys are data", () => {
    const patch = JSON.parse('{"__proto__":{"polluted":1},"a":{"__proto__":"x"}}');
    const merged = applyMergePatch({ a: { b: 1 } }, patch);
    expect(JSON.stringify(merged)).toBe('{"a":{"b":1,"__proto__":"x"},"__proto__":{"polluted":1}}');
    expect("polluted" in {}).toBe(false);
  });

  test("the patch that leads from one object to another does", () => {
    const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.array(fc.integer()));
    const { tree } = fc.letrec<{ tree: JsonObject }>((tie) => ({
      tree: fc.dictionary(
        fc.oneof(fc.constantFrom("a", "b", "__proto__"), fc.string()),
        fc.oneof(leaf, tie("tree")),
      ),
    }));
    fc.assert(
      fc.property(tree, tree, (from, to) => {
        expect(JSON.parse(JSON.stringify(applyMergePatch(from, diff(from, to))))).toEqual(
          JSON.parse(JSON.stringify(to)),
        );
      }),
    );
  });
});

function diff(from: JsonObject, to: JsonObject): JsonObject {
  const entries = new Map<string, unknown>();
  for (const key of Object.keys(from)) if (!Object.hasOwn(to, key)) entries.set(key, null);
  for (const [key, value] of Object.entries(to)) {
    const current = Object.hasOwn(from, key) ? from[key] : undefined;
    entries.set(key, isJsonObject(current) && isJsonObject(value) ? diff(current, value) : value);
  }
  return Object.fromEntries(entries);
}
