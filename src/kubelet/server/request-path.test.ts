import { expect, test } from "vitest";
import { parsePath, readFlag } from "./request-path.ts";

test.each([
  ["/pods", ["pods"]],
  ["/runningpods/", ["runningpods"]],
  ["/exec/ns/pod/c?command=a", ["exec", "ns", "pod", "c"]],
  ["/exec/ns%2Fx/..", ["exec", "ns/x", ".."]],
  ["//pods", ["", "pods"]],
  ["/", [""]],
])("%s", (url, segments) => {
  expect(parsePath(url).segments).toEqual(segments);
});

test("a path that cannot be decoded is refused", () => {
  expect(() => parsePath("/pods/%zz")).toThrow(/percent-encoding/);
});

test("a flag is set by its name alone, 1 or true", () => {
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
