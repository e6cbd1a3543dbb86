import { describe, expect, test } from "vitest";
import { explainSkip, isAtLeast, parseVersion } from "./tool-version.ts";

test.each([
  ["Client Version: v1.32.4-dispatcher\nKustomize Version: v5.5.0", "1.32.4"],
  ["Client Version: v1.36.4\nKustomize Version: v5.8.1", "1.36.4"],
  [
    'Client Version: version.Info{Major:"1", Minor:"20", GitVersion:"v1.20.2", GoVersion:"go1.19.8"}',
    "1.20.2",
  ],
  ["Client Version: v1.40.0-alpha.1", "1.40.0"],
  ["containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3", "1.6.20"],
  ["containerd github.com/containerd/containerd/v2 2.1.9+unknown", "2.1.9"],
  ["etcd Version: 3.5.30", "3.5.30"],
  ["version 7.1", "7.1"],
  ["version: devel", undefined],
  ["", undefined],
])("the version in %j is %s", (output, version) => {
  expect(parseVersion(output)).toBe(version);
});

test.each([
  ["1.32.4", "1.34", false],
  ["1.33.9", "1.34", false],
  ["1.34.0", "1.34", true],
  ["1.34", "1.34.1", false],
  ["1.36.4", "1.34", true],
  // A comparison of strings would get these wrong.
  ["1.100.0", "1.34", true],
  ["1.9.0", "1.34", false],
  ["2.0.0", "1.34", true],
  ["10.0", "9.9", true],
])("%s is at least %s: %s", (version, oldest, expected) => {
  expect(isAtLeast(version, oldest)).toBe(expected);
});

describe("tests that need a tool", () => {
  const kubectl = { install: "apt-get install kubectl", oldest: "1.32" };
  const runc = { install: "apt-get install runc", needsRoot: true } as const;
  const found = { path: "/usr/bin/tool", version: "1.32.4", isRoot: true };
  test.each([
    ["kubectl", kubectl, found, undefined],
    ["kubectl", kubectl, { ...found, isRoot: false }, undefined],
    ["kubectl", kubectl, { ...found, version: "1.99.0" }, undefined],
    [
      "kubectl",
      kubectl,
      { ...found, version: "1.20.2" },
      "needs kubectl 1.32 or newer: /usr/bin/tool is 1.20.2",
    ],
    [
      "kubectl",
      kubectl,
      { ...found, version: undefined },
      "needs kubectl 1.32: /usr/bin/tool prints no version",
    ],
    ["kubectl", kubectl, { ...found, path: undefined }, "needs kubectl: apt-get install kubectl"],
    ["runc", runc, { ...found, version: undefined }, undefined],
    ["runc", runc, { ...found, isRoot: false }, "needs root"],
    ["runc", runc, { ...found, path: undefined, isRoot: false }, "needs runc: apt-get install runc"],
  ])("%s, %j, %j: %s", (name, needs, facts, expected) => {
    expect(explainSkip(name, needs, facts)).toBe(expected);
  });
});
