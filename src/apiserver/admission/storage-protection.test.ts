import { expect, test } from "vitest";
import { addProtectionFinalizer } from "./object-defaults.ts";

test.each([
  ["claim", undefined, ["kubernetes.io/pvc-protection"]],
  ["claim", ["a/b"], ["a/b", "kubernetes.io/pvc-protection"]],
  ["claim", ["kubernetes.io/pvc-protection"], ["kubernetes.io/pvc-protection"]],
  ["volume", [], ["kubernetes.io/pv-protection"]],
] as const)("a new %s with %j is kept while it is used", (kind, given, expected) => {
  const finalizers = given && [...given];
  const object = { apiVersion: "v1", kind: "Any", metadata: { name: "x", finalizers } };
  addProtectionFinalizer(object, kind);
  expect(object.metadata.finalizers).toEqual(expected);
});
