import { expect, test } from "vitest";
import { parsePath, readFlag } from "./http-exchange.ts";

test.each([
  ["/pods", ["pods"]],
  ["/runningpods/", ["runningpods"]],
  ["/exec/ns/pod/c?command=a", ["exec", "ns", "pod", "c"]],
  ["/exec/ns%2Fx/..", ["exec", "ns/x", ".."]],
  ["//pods", ["", "pods"]],
  ["/", [""]],
])("parses %s", (url, segments) => {
  expect(parsePath(url).segments).toEqual(segments);
});

test("rejects a path that cannot be decoded", () => {
  expect(() => parsePath("/pods/%zz")).toThrow(/percent-encoding/);
});

test("a flag is true if it is present without a value, or is 1 or true", () => {
  const { query } = parsePath("/x?a=1&b=false&c=0&d&e=true");
  expect(["a", "b", "c", "d", "e", "f"].map((name) => readFlag(query, name))).toEqual([
    true,
    false,
    false,
    true,
    true,
    false,
  ]);
});
