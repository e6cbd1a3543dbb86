import { expect, test } from "vitest";
import { makePod } from "../containers/make-pod.fixture.ts";
import { canMountRecursively, runtimeHandlerOf } from "./node-facts.ts";

const vmClass = {
  apiVersion: "node.k8s.io/v1",
  kind: "RuntimeClass",
  metadata: { name: "sealed" },
  handler: "vm",
};
const findRuntimeClass = (name: string) => (name === "sealed" ? vmClass : undefined);
const podOfClass = (runtimeClassName: string) => makePod({ ...(runtimeClassName && { runtimeClassName }) });

test("takes the handler of the pod's RuntimeClass, and the default handler without one", () => {
  expect(runtimeHandlerOf(podOfClass(""), findRuntimeClass)).toBe("");
  expect(runtimeHandlerOf(podOfClass("sealed"), findRuntimeClass)).toBe("vm");
  expect(() => runtimeHandlerOf(podOfClass("other"), findRuntimeClass)).toThrow(
    'runtimeclass.node.k8s.io "other" not found',
  );
});

test.each([
  ["without a handler's features", "sealed", [{ name: "vm", features: {} }], false],
  ["of an unlisted handler", "sealed", [{ features: { recursiveReadOnlyMounts: true } }], false],
  [
    "of the default handler",
    "",
    [{ name: "vm", features: {} }, { features: { recursiveReadOnlyMounts: true } }],
    true,
  ],
  ["before the node has reported its handlers", "", undefined, false],
])("recursive read-only mounts %s: class %j with handlers %j gives %s", (_case, name, handlers, expected) => {
  expect(canMountRecursively(podOfClass(name), findRuntimeClass, handlers)).toBe(expected);
});
