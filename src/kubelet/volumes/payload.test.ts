import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import { configMapPayload, secretPayload } from "./collect-payload.ts";
import { cleanPayload, type Payload } from "./payload.ts";

const file = { data: Buffer.from("x"), mode: 0o644 };

test.each([
  ["", 'must not be empty: ""'],
  ["/etc/passwd", "must be relative path: /etc/passwd"],
  ["a/../../b", "must not contain '..': a/../../b"],
  ["..", "must not contain '..': .."],
  ["..data", "must not start with '..': ..data"],
  ["./..data", "must not start with '..': ./..data"],
  ["..2031/x", "must not start with '..': ..2031/x"],
  ["...", "must not start with '..': ..."],
  [".", "must name a file: ."],
  ["a\0b", "must not contain a NUL character"],
  [`${"n".repeat(256)}`, "filenames must be less than or equal to 255 characters"],
  [`${"n/".repeat(2_100)}x`, "must be less than or equal to 4096 characters"],
])("rejects path %#", (path, problem) => {
  expect(() => cleanPayload(new Map([[path, file]]))).toThrow(`invalid path: ${problem}`);
});

test("normalizes other paths", () => {
  const payload = new Map(["a", "b//c", "./d", "e/", "f/..g"].map((path) => [path, file]));
  expect([...cleanPayload(payload).keys()]).toEqual(["a", "b/c", "d", "e", "f/..g"]);
});

const configMap = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "web" },
  data: { a: "text", both: "text" },
  binaryData: { b: Buffer.from([0, 255]).toString("base64"), both: "AAAA" },
};

function shown(payload: Payload): Record<string, string> {
  return Object.fromEntries(
    [...payload].map(([path, { data, mode }]) => [path, `${mode.toString(8)} ${data.toString("latin1")}`]),
  );
}

test("a ConfigMap has all its keys, and data takes precedence over binaryData", () => {
  expect(shown(configMapPayload(configMap, { defaultMode: 0o400 }))).toEqual({
    a: "400 text",
    b: "400 \0\xff",
    both: "400 text",
  });
});

test("items select keys, paths and modes", () => {
  const items = [
    { key: "a", path: "dir/one" },
    { key: "b", path: "two", mode: 0o444 },
  ];
  expect(shown(configMapPayload(configMap, { items, defaultMode: 0o600 }))).toEqual({
    "dir/one": "600 text",
    two: "444 \0\xff",
  });
});

test("rejects missing objects and keys", () => {
  const items = [{ key: "gone", path: "gone" }];
  expect(() => configMapPayload(undefined, { name: "web" })).toThrow(/^configmap "web" not found$/);
  expect(() => secretPayload(undefined, { name: "web" })).toThrow(/^secret "web" not found$/);
  expect(() => configMapPayload(configMap, { items })).toThrow(
    /^configmap references non-existent config key: gone$/,
  );
  const secret = { apiVersion: "v1", kind: "Secret", metadata: {}, data: { key: "dmFsdWU=" } };
  expect(() => secretPayload(secret, { items })).toThrow(/^references non-existent secret key: gone$/);
  expect(shown(secretPayload(secret, {}))).toEqual({ key: "644 value" });
});

test("ignores missing objects and keys that are optional", () => {
  const items = [
    { key: "gone", path: "gone" },
    { key: "a", path: "a" },
  ];
  expect(shown(configMapPayload(undefined, { optional: true, items }))).toEqual({});
  expect(shown(configMapPayload(configMap, { optional: true, items }))).toEqual({ a: "644 text" });
  expect(shown(secretPayload(undefined, { optional: true }))).toEqual({});
});
