import { expect, test } from "vitest";
import { useStrategy } from "../../strategy.fixture.ts";

const { createErrors, updateErrors } = useStrategy("v1", "ConfigMap");

const mebibyte = 1024 * 1024;

test.each<[string, object, string[]]>([
  [
    "a key with a space",
    { data: { "a b": "" } },
    [
      "data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
    ],
  ],
  [
    "a key twice",
    { data: { a: "" }, binaryData: { a: "" } },
    ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
  ],
  [
    "too much",
    { data: { a: "x".repeat(mebibyte + 1) } },
    ["[]: Too long: may not be more than 1048576 bytes"],
  ],
  ["the maximum size", { data: { a: "x".repeat(mebibyte) } }, []],
])("%s", (_, fields, expected) => {
  expect(createErrors(fields)).toEqual(expected);
});

test("an immutable object can be neither changed nor made mutable", () => {
  expect(updateErrors({ immutable: true, data: { a: "1" } }, { data: { a: "2" } })).toEqual([
    "immutable: Forbidden: field is immutable when `immutable` is set",
    "data: Forbidden: field is immutable when `immutable` is set",
  ]);
});
