import { describe, expect, test } from "vitest";
import {
  differenceOf,
  excludeFields,
  type FieldSet,
  FieldSetBuilder,
  formatPath,
  hasPath,
  intersectionOf,
  pathsOf,
  sortFieldSet,
  unionOf,
} from "./field-set.ts";

function setOf(...paths: string[][]): FieldSet {
  const builder = new FieldSetBuilder();
  for (const path of paths) builder.insert(path);
  return builder.set;
}

const a = ["f:a"];
const ab = ["f:a", "f:b"];
const abc = ["f:a", "f:b", "f:c"];

describe("FieldSetBuilder", () => {
  test.each([
    ["a path", [a], { "f:a": {} }],
    ["a path below another one", [a, ab], { "f:a": { ".": {}, "f:b": {} } }],
    ["a path above another one", [ab, a], { "f:a": { ".": {}, "f:b": {} } }],
    ["only a path below", [abc], { "f:a": { "f:b": { "f:c": {} } } }],
    ["a path twice", [a, a, ab, ab], { "f:a": { ".": {}, "f:b": {} } }],
  ])("%s", (_, paths, expected) => {
    expect(setOf(...paths)).toEqual(expected);
  });
});

test.each([
  ["union", unionOf, [a, ab, abc]],
  ["difference", differenceOf, [a]],
  ["intersection", intersectionOf, [ab]],
])("%s", (_, combine, expected) => {
  expect(combine(setOf(a, ab), setOf(ab, abc))).toEqual(setOf(...expected));
});

test("the difference keeps paths below a removed one, excludeFields removes them", () => {
  expect(differenceOf(setOf(a, ab), setOf(a))).toEqual(setOf(ab));
  expect(excludeFields(setOf(a, ab, ["f:x"]), setOf(a))).toEqual(setOf(["f:x"]));
  expect(excludeFields(setOf(a, ab), setOf(ab))).toEqual(setOf(a));
});

test("hasPath finds members and not the paths above them", () => {
  expect(hasPath(setOf(ab), ab)).toBe(true);
  expect(hasPath(setOf(ab), a)).toBe(false);
  expect(hasPath(setOf(ab), abc)).toBe(false);
});

test("elements are sorted: fields, then keys by value, then values", () => {
  const set = setOf(['v:"a"'], ['k:{"port":443}'], ['k:{"port":80}'], ["f:b"], ["f:a"]);
  expect(Object.keys(sortFieldSet(set))).toEqual(["f:a", "f:b", 'k:{"port":80}', 'k:{"port":443}', 'v:"a"']);
});

test("paths are listed with members before the paths below other elements", () => {
  expect(pathsOf(setOf(abc, ["f:z"])).map(formatPath)).toEqual([".z", ".a.b.c"]);
});

test("a path is formatted as in upstream's messages", () => {
  expect(formatPath(["f:spec", "f:ports", 'k:{"port":80,"protocol":"TCP"}', "f:name"])).toBe(
    '.spec.ports[port=80,protocol="TCP"].name',
  );
  expect(formatPath(["f:metadata", "f:finalizers", 'v:"x.io/a"'])).toBe('.metadata.finalizers[="x.io/a"]');
});
