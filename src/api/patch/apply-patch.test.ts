import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { builtInSchema } from "../schema/built-in-schema.ts";
import { isJsonObject, type JsonObject } from "../schema/json-object.ts";
import type { FieldValidation } from "../schema/strict-errors.ts";
import { applyMergePatch, applyPatch, parsePatch } from "./apply-patch.ts";

const podTarget = { schema: builtInSchema, definition: "core.v1.Pod" };

const types = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json; charset=utf-8",
};

const current = {
  kind: "Pod",
  apiVersion: "v1",
  metadata: { name: "a", labels: { x: "y" } },
  spec: { containers: [{ name: "c", image: "one", resources: {} }] },
  status: {},
};

function patch(type: keyof typeof types, text: string, fieldValidation: FieldValidation = "Strict") {
  return applyPatch(parsePatch(types[type], text, { fieldValidation }), podTarget, current);
}

describe("applyPatch", () => {
  test.each<[keyof typeof types, string]>([
    ["json", '[{"op":"replace","path":"/spec/containers/0/image","value":"two"}]'],
    ["merge", '{"spec":{"containers":[{"name":"c","image":"two"}]}}'],
    ["strategic", '{"spec":{"containers":[{"name":"c","image":"two"}]}}'],
  ])("%s", (type, text) => {
    expect(patch(type, text)).toEqual({
      object: { ...current, spec: { containers: [{ name: "c", image: "two", resources: {} }] } },
      warnings: [],
    });
  });

  test("a patch may be applied more than once", () => {
    const text =
      '[{"op":"add","path":"/metadata/annotations","value":{}},{"op":"add","path":"/metadata/annotations/a","value":"b"}]';
    const parsed = parsePatch(types.json, text, { fieldValidation: "Strict" });
    const once = applyPatch(parsed, podTarget, current);
    expect(applyPatch(parsed, podTarget, current)).toEqual(once);
  });

  test.each<[keyof typeof types, string, number, string]>([
    ["json", "{", 400, "error decoding patch: unexpected end of JSON input"],
    [
      "json",
      "{}",
      400,
      "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
    ],
    [
      "merge",
      "[]",
      400,
      "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
    ],
    ["strategic", "null", 400, "json: cannot unmarshal object into Go value of type map[string]interface {}"],
    ["strategic", '{"$patch":"x"}', 400, "unknown patch type: x in map: map[$patch:x]"],
    [
      "json",
      '[{"op":"test","path":"/kind","value":"x"}]',
      422,
      "the server rejected our request due to an error in our request",
    ],
    [
      "json",
      '[{"op":"add","path":"/spec","value":1}]',
      422,
      ' "" is invalid: patch: Invalid value: "{\\"kind\\":\\"Pod\\",\\"apiVersion\\":\\"v1\\",\\"metadata\\":{\\"name\\":\\"a\\",\\"labels\\":{\\"x\\":\\"y\\"}},\\"spec\\":1,\\"status\\":{}}": json: cannot unmarshal number into Go struct field Pod.spec of type v1.PodSpec',
    ],
    [
      "strategic",
      '{"spec":{"a":1}}',
      422,
      ' "" is invalid: patch: Invalid value: "map[spec:map[a:1]]": strict decoding error: unknown field "spec.a"',
    ],
    [
      "json",
      `[${"{},".repeat(10_000)}{}]`,
      413,
      "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
    ],
    ["merge", `${'{"a":'.repeat(1000)}1${"}".repeat(1000)}`, 400, "exceeded max depth"],
  ])("%s %j fails", (type, text, code, message) => {
    expect(() => patch(type, text)).toThrow(expect.objectContaining({ name: "StatusError", code, message }));
  });

  test.each<[FieldValidation, string[]]>([
    ["Ignore", []],
    ["Warn", ['duplicate field "a"', 'unknown field "a"']],
  ])("%s lets unknown and duplicate fields pass", (fieldValidation, warnings) => {
    expect(patch("merge", '{"a":1,"a":2}', fieldValidation)).toEqual({ object: current, warnings });
  });

  test("reports unknown fields of operations", () => {
    const text = '[{"op":"test","path":"/kind","value":"Pod","vlaue":1}]';
    expect(patch("json", text, "Warn").warnings).toEqual(['json patch unknown field "[0].vlaue"']);
  });

  test.each(["application/json", "application/apply-patch+yaml", ""])("%j is no patch", (contentType) => {
    expect(() => parsePatch(contentType, "{}", { fieldValidation: "Warn" })).toThrow(
      expect.objectContaining({ code: 415 }),
    );
  });
});

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

  test("a computed patch produces the target object", () => {
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
