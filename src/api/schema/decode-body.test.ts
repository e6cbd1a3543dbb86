import { describe, expect, test } from "vitest";
import { builtInSchema } from "./built-in-schema.ts";
import { decodeBody } from "./decode-body.ts";
import type { FieldValidation } from "./strict-errors.ts";

const pod = { group: "", version: "v1", kind: "Pod" };

function decode(text: string, fieldValidation: FieldValidation = "Strict") {
  return decodeBody(builtInSchema, pod, text, { fieldValidation });
}

describe("decodeBody", () => {
  test("kind and version may be left out", () => {
    expect(decode('{"metadata":{"name":"a"}}').object).toMatchObject({ kind: "Pod", apiVersion: "v1" });
  });

  test.each<[string, string]>([
    [
      "",
      "the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)",
    ],
    [
      "[]",
      'the object provided is unrecognized (must be of type Pod): couldn\'t get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" } (5b5d)',
    ],
    [
      "x",
      "the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: invalid character 'x' looking for beginning of value (78)",
    ],
    [
      '{"kind":1}',
      'the object provided is unrecognized (must be of type Pod): couldn\'t get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string ({"kind":1})',
    ],
    [
      '{"apiVersion":"apps/v1"}',
      'Pod in version "v1" cannot be handled as a Pod: no kind "Pod" is registered for version "apps/v1" in scheme "pkg/api/legacyscheme/scheme.go:30"',
    ],
    [
      '{"kind":"ConfigMap","apiVersion":"v1"}',
      'ConfigMap in version "v1" cannot be handled as a Pod: converting (v1.ConfigMap) to (core.Pod): unknown conversion',
    ],
    [
      '{"kind":"Nope","apiVersion":"v1"}',
      'Nope in version "v1" cannot be handled as a Pod: no kind "Nope" is registered for version "v1" in scheme "pkg/api/legacyscheme/scheme.go:30"',
    ],
    [
      '{"spec":1}',
      'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field Pod.spec of type v1.PodSpec',
    ],
    [
      '{"spec":{"foo":1},"metadata":{"name":"a","name":"b"}}',
      'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.foo", duplicate field "metadata.name"',
    ],
  ])("%s is refused", (text, message) => {
    expect(() => decode(text)).toThrow(expect.objectContaining({ code: 400, reason: "BadRequest", message }));
  });

  test.each<[FieldValidation, string[]]>([
    ["Ignore", []],
    ["Warn", ['unknown field "spec.foo"', 'duplicate field "metadata.name"']],
  ])("%s lets unknown and duplicate fields pass", (fieldValidation, warnings) => {
    const decoded = decode('{"spec":{"foo":1},"metadata":{"name":"a","name":"b"}}', fieldValidation);
    expect(decoded.warnings).toEqual(warnings);
    expect(decoded.object.metadata.name).toBe("b");
  });

  test("at most a hundred fields are named", () => {
    const fields = Array.from({ length: 150 }, (_, i) => `"f${i}":1`).join();
    expect(decode(`{${fields}}`, "Warn").warnings).toHaveLength(100);
  });
});
