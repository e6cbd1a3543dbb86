import { describe, expect, test } from "vitest";
import { describeRules, uncoveredRules } from "./covers.ts";
import type { PolicyRule } from "./rbac-objects.ts";

type Words = [verbs: string, groups: string, resources: string, names?: string];

function rule([verbs, groups, resources, names]: Words): PolicyRule {
  return {
    verbs: verbs.split(" "),
    apiGroups: groups.split(" "),
    resources: resources.split(" "),
    resourceNames: names?.split(" "),
  };
}
const paths = (urls: string, verbs = "get"): PolicyRule => ({
  nonResourceURLs: urls.split(" "),
  verbs: [verbs],
});

describe("uncoveredRules", () => {
  test.each<[string, PolicyRule[], PolicyRule[], PolicyRule[]]>([
    ["the same", [rule(["get", "a", "x"])], [rule(["get", "a", "x"])], []],
    [
      "several rules together",
      [rule(["delete", "a", "x"]), rule(["delete", "a", "y"]), rule(["update", "a", "x y"])],
      [rule(["delete update", "a", "x y"])],
      [],
    ],
    [
      "all but one",
      [rule(["get put", "a", "x y"]), rule(["get", "a", "z"])],
      [rule(["get put", "a", "x y z"])],
      [rule(["put", "a", "z"])],
    ],
    ["star of verbs", [rule(["*", "a", "x"])], [rule(["get list", "a", "x"])], []],
    ["no star of verbs", [rule(["get list", "a", "x"])], [rule(["*", "a", "x"])], [rule(["*", "a", "x"])]],
    ["star of groups", [rule(["get", "*", "x"])], [rule(["get", "a b", "x"])], []],
    ["star of resources", [rule(["get", "a", "*"])], [rule(["get", "a", "x x/status"])], []],
    ["no star of resources", [rule(["get", "a", "x"])], [rule(["get", "a", "*"])], [rule(["get", "a", "*"])]],
    ["star before a subresource", [rule(["get", "a", "*/scale"])], [rule(["get", "a", "x/scale"])], []],
    ["names under all names", [rule(["get", "a", "x"])], [rule(["get", "a", "x", "n m"])], []],
    [
      "all names under names",
      [rule(["get", "a", "x", "n m"])],
      [rule(["get", "a", "x"])],
      [rule(["get", "a", "x"])],
    ],
    [
      "a name too many",
      [rule(["get", "a", "x", "n"])],
      [rule(["get", "a", "x", "n m"])],
      [rule(["get", "a", "x", "m"])],
    ],
    ["paths under a star", [paths("*")], [paths("/a /b/*")], []],
    ["a path beside a prefix", [paths("/a/*")], [paths("/a /a/b")], [paths("/a")]],
    ["paths and resources are different things", [rule(["*", "*", "*"])], [paths("/a")], [paths("/a")]],
  ])("%s", (_, owned, wanted, missing) => {
    expect(uncoveredRules(owned, wanted)).toEqual(missing);
  });

  test("handles billions of combinations without enumerating them", () => {
    const many = (prefix: string) => Array.from({ length: 2000 }, (_, i) => `${prefix}${i}`);
    const wanted = { apiGroups: many("g"), resources: many("r"), verbs: many("v"), resourceNames: many("n") };
    expect(uncoveredRules([rule(["get", "a", "x"])], [wanted])).toBeUndefined();
    expect(uncoveredRules([rule(["*", "*", "*"])], [wanted])).toEqual([]);
  });
});

test("describeRules puts the verbs on one resource together", () => {
  const missing = [
    rule(["get", "", "pods"]),
    rule(["get", "apps", "deployments", "x"]),
    rule(["list", "", "pods"]),
    paths("/a"),
    paths("/a", "post"),
  ];
  expect(describeRules(missing).split("\n")).toEqual([
    '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
    '{APIGroups:["apps"], Resources:["deployments"], ResourceNames:["x"], Verbs:["get"]}',
    '{NonResourceURLs:["/a"], Verbs:["get"]}',
    '{NonResourceURLs:["/a"], Verbs:["post"]}',
  ]);
});
