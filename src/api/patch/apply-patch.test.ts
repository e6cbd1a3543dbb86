import { describe, expect, test } from "vitest";
import type { FieldValidation } from "../schema/strict-errors.ts";
import { applyPatch, parsePatch } from "./apply-patch.ts";

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
  return applyPatch(parsePatch(types[type], text, { fieldValidation }), "core.v1.Pod", current);
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
    const once = applyPatch(parsed, "core.v1.Pod", current);
    expect(applyPatch(parsed, "core.v1.Pod", current)).toEqual(once);
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

  test("unknown fields of operations are told", () => {
    const text = '[{"op":"test","path":"/kind","value":"Pod","vlaue":1}]';
    expect(patch("json", text, "Warn").warnings).toEqual(['json patch unknown field "[0].vlaue"']);
  });

  test.each(["application/json", "application/apply-patch+yaml", ""])("%j is no patch", (contentType) => {
    expect(() => parsePatch(contentType, "{}", { fieldValidation: "Warn" })).toThrow(
      expect.objectContaining({ code: 415 }),
    );
  });
});
