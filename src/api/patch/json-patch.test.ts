import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../schema/json-object.ts";
import { applyJsonPatch } from "./json-patch.ts";
import { PatchError } from "./patch-error.ts";

describe("applyJsonPatch", () => {
  test.each<[string, JsonObject, JsonObject[], unknown]>([
    ["add a key", { a: 1 }, [{ op: "add", path: "/b", value: 2 }], { a: 1, b: 2 }],
    ["add over a key", { a: 1 }, [{ op: "add", path: "/a", value: 2 }], { a: 2 }],
    ["add into a list", { a: [1, 3] }, [{ op: "add", path: "/a/1", value: 2 }], { a: [1, 2, 3] }],
    ["add at the end", { a: [1] }, [{ op: "add", path: "/a/-", value: 2 }], { a: [1, 2] }],
    ["add from the end", { a: [1, 2] }, [{ op: "add", path: "/a/-1", value: 3 }], { a: [1, 2, 3] }],
    ["add without a value", {}, [{ op: "add", path: "/a" }], { a: null }],
    ["remove a key", { a: 1, b: 2 }, [{ op: "remove", path: "/a" }], { b: 2 }],
    ["remove an item", { a: [1, 2, 3] }, [{ op: "remove", path: "/a/1" }], { a: [1, 3] }],
    ["replace", { a: { b: 1 } }, [{ op: "replace", path: "/a/b", value: [] }], { a: { b: [] } }],
    ["replace a missing key", { a: {} }, [{ op: "replace", path: "/a/b", value: 1 }], { a: { b: 1 } }],
    ["replace all", { a: 1 }, [{ op: "replace", path: "", value: { b: 1 } }], { b: 1 }],
    ["move", { a: { b: 1 } }, [{ op: "move", from: "/a/b", path: "/c" }], { a: {}, c: 1 }],
    [
      "copy",
      { a: { b: [1] } },
      [
        { op: "copy", from: "/a", path: "/c" },
        { op: "add", path: "/c/b/-", value: 2 },
      ],
      { a: { b: [1] }, c: { b: [1, 2] } },
    ],
    [
      "escapes",
      { "a/b": { "c~d": 1 } },
      [{ op: "replace", path: "/a~1b/c~0d", value: 2 }],
      { "a/b": { "c~d": 2 } },
    ],
    ["test", { a: [{ b: 1 }] }, [{ op: "test", path: "/a", value: [{ b: 1 }] }], { a: [{ b: 1 }] }],
    ["test of nothing", {}, [{ op: "test", path: "/a", value: null }], {}],
    [
      "the value stays the patch's own",
      {},
      [
        { op: "add", path: "/a", value: { b: 1 } },
        { op: "add", path: "/a/c", value: 2 },
      ],
      { a: { b: 1, c: 2 } },
    ],
  ])("%s", (_, target, patch, expected) => {
    const [targetBefore, patchBefore] = structuredClone([target, patch]);
    expect(applyJsonPatch(target, patch)).toEqual(expected);
    expect([target, patch]).toEqual([targetBefore, patchBefore]);
  });

  test.each<[string, JsonObject, JsonObject]>([
    ["an unknown operation", {}, { op: "merge", path: "/a" }],
    ["no operation", {}, { path: "/a" }],
    ["no path", {}, { op: "add" }],
    ["a missing parent", {}, { op: "add", path: "/a/b", value: 1 }],
    ["an index beyond the end", { a: [1] }, { op: "add", path: "/a/2", value: 1 }],
    ["an index before the start", { a: [1] }, { op: "remove", path: "/a/-2" }],
    ["no index", { a: [1] }, { op: "replace", path: "/a/x", value: 1 }],
    ["removing nothing", { a: 1 }, { op: "remove", path: "/b" }],
    ["a path into a scalar", { a: 1 }, { op: "add", path: "/a/b", value: 1 }],
    ["moving nothing", { a: 1 }, { op: "move", from: "/b", path: "/c" }],
    ["moving into itself", { a: { b: 1 } }, { op: "move", from: "/a", path: "/a/b" }],
    ["a failing test", { a: 1 }, { op: "test", path: "/a", value: 2 }],
    ["a failing test of null", { a: 1 }, { op: "test", path: "/a" }],
    ["removing what all objects have", {}, { op: "remove", path: "/toString" }],
    ["a path through what all objects have", {}, { op: "add", path: "/constructor/prototype/x", value: 1 }],
  ])("%s does not apply", (_, target, operation) => {
    expect(() => applyJsonPatch(target, [operation])).toThrow(
      expect.objectContaining({ kind: "doesNotApply" }),
    );
  });

  test.each<[unknown]>([[{}], [[1]], [[null]], ["x"]])("%j is no patch", (patch) => {
    expect(() => applyJsonPatch({}, patch)).toThrow(expect.objectContaining({ kind: "malformed" }));
  });

  test("ten thousand operations are allowed and quick, more are not", () => {
    const operations = Array.from({ length: 10_000 }, () => ({ op: "add", path: "/a/0", value: "x" }));
    expect(applyJsonPatch({ a: [] }, operations)).toHaveProperty("a.length", 10_000);
    expect(() => applyJsonPatch({ a: [] }, [...operations, operations[0]])).toThrow(
      new PatchError("tooLarge", "The allowed maximum operations in a JSON patch is 10000, got 10001"),
    );
  });

  test("limits the size that copies can add", () => {
    const bomb = Array.from({ length: 100 }, (_, i) => ({ op: "copy", from: "", path: `/a/${i}` }));
    expect(() => applyJsonPatch({ a: {} }, bomb)).toThrow(PatchError);
    const doubling = Array.from({ length: 60 }, (_, i) => ({ op: "copy", from: "/a", path: `/a/x${i}` }));
    expect(() => applyJsonPatch({ a: { b: "c" } }, doubling)).toThrow(/exceeding the limit 3145728/);
  });

  test.each([1_000, 3_000])("%d levels of nesting cause no stack overflow", (levels) => {
    const wrap = [
      { op: "add", path: "/b", value: {} },
      { op: "move", from: "/a", path: "/b/a" },
      { op: "move", from: "/b", path: "/a" },
    ];
    const copy = { op: "copy", from: "/a", path: "/c" };
    const deeper = Array.from({ length: levels }, () => wrap).flat();
    expect(() => applyJsonPatch({ a: 1 }, [...deeper, copy])).toThrow("exceeded max depth");
  });

  test("hostile keys are data", () => {
    const operations = [{ op: "add", path: "/__proto__", value: { polluted: 1 } }];
    expect(JSON.stringify(applyJsonPatch({}, operations))).toBe('{"__proto__":{"polluted":1}}');
    expect("polluted" in {}).toBe(false);
  });

  test("any patch applies or fails with a patch error", () => {
    const path = fc
      .array(fc.constantFrom("a", "b", "0", "-", "-1", "__proto__", ""))
      .map((steps) => steps.map((step) => `/${step}`).join(""));
    const operation = fc.record(
      {
        op: fc.constantFrom("add", "remove", "replace", "move", "copy", "test"),
        path,
        from: path,
        value: fc.jsonValue(),
      },
      { requiredKeys: ["op"] },
    );
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("a", "b"), fc.jsonValue()),
        fc.array(operation),
        (target, patch) => {
          try {
            JSON.stringify(applyJsonPatch(target, patch));
          } catch (error) {
            expect(error).toBeInstanceOf(PatchError);
          }
        },
      ),
    );
  });
});
