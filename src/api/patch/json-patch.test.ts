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

  const atoi = 'strconv.Atoi: parsing "x": invalid syntax';
  const beyond = (index: number) => `Unable to access invalid index: ${index}: invalid index referenced`;

  test.each<[JsonObject, JsonObject, string]>([
    [{}, { op: "merge", path: "/a" }, "Unexpected kind: merge"],
    [{}, { path: "/a" }, "Unexpected kind: unknown"],
    [{}, { op: "add" }, "add operation failed to decode path: missing value"],
    [
      {},
      { op: "test", path: null },
      "test operation failed to decode path: operation missing path field: missing value",
    ],
    [
      {},
      { op: "move", from: 1, path: "/a" },
      "move operation failed to decode from: json: cannot unmarshal number into Go value of type string",
    ],
    [
      {},
      { op: "copy", path: "/a" },
      "copy operation failed to decode from: operation, missing from field: missing value",
    ],
    [
      {},
      { op: "add", path: "/a/b", value: 1 },
      'add operation does not apply: doc is missing path: "/a/b": missing value',
    ],
    [{ a: [1] }, { op: "add", path: "/a/2", value: 1 }, `error in add for path: '/a/2': ${beyond(2)}`],
    [
      { a: [1] },
      { op: "add", path: "/a/x", value: 1 },
      `error in add for path: '/a/x': value was not a proper array index: 'x': ${atoi}`,
    ],
    [{ a: [1] }, { op: "remove", path: "/a/-2" }, `error in remove for path: '/a/-2': ${beyond(-2)}`],
    [{ a: [1] }, { op: "remove", path: "/a/x" }, `error in remove for path: '/a/x': ${atoi}`],
    [
      { a: [1] },
      { op: "replace", path: "/a/x", value: 1 },
      "replace operation does not apply: doc is missing key: /a/x: missing value",
    ],
    [
      { a: [1] },
      { op: "replace", path: "/a/7/b", value: 1 },
      "replace operation does not apply: doc is missing path: /a/7/b: missing value",
    ],
    [
      {},
      { op: "replace", path: "", value: 1 },
      "replace operation value must be object or array: %!w(<nil>)",
    ],
    [
      { a: 1 },
      { op: "remove", path: "/b" },
      "error in remove for path: '/b': Unable to remove nonexistent key: b: missing value",
    ],
    [
      { a: 1 },
      { op: "add", path: "/a/b", value: 1 },
      'add operation does not apply: doc is missing path: "/a/b": missing value',
    ],
    [
      { a: 1 },
      { op: "move", from: "/b", path: "/c" },
      "error in move for path: 'b': Unable to remove nonexistent key: b: missing value",
    ],
    [
      { a: { b: 1 } },
      { op: "move", from: "/a", path: "/a/b" },
      "move operation does not apply: doc is missing destination path: /a/b: missing value",
    ],
    [
      { a: 1 },
      { op: "copy", from: "/b/c", path: "/c" },
      "copy operation does not apply: doc is missing from path: /b/c: missing value",
    ],
    [
      { a: [1] },
      { op: "copy", from: "/a", path: "/a/5" },
      `error while adding value during copy: ${beyond(5)}`,
    ],
    [{ a: 1 }, { op: "test", path: "/a", value: 2 }, "testing value /a failed: test failed"],
    [{ a: 1 }, { op: "test", path: "/a" }, "testing value /a failed: test failed"],
    [
      { a: 1 },
      { op: "test", path: "/b/c", value: 2 },
      "test operation does not apply: is missing path: /b/c: missing value",
    ],
    [{ a: [] }, { op: "test", path: "/a/0", value: 2 }, `error in test for path: '/a/0': ${beyond(0)}`],
    [
      {},
      { op: "remove", path: "/toString" },
      "error in remove for path: '/toString': Unable to remove nonexistent key: toString: missing value",
    ],
    [
      {},
      { op: "add", path: "/constructor/prototype/x", value: 1 },
      'add operation does not apply: doc is missing path: "/constructor/prototype/x": missing value',
    ],
  ])("%j with %j: %s", (target, operation, message) => {
    expect(() => applyJsonPatch(target, [operation])).toThrow(new PatchError("doesNotApply", message));
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
