import { expect, test } from "vitest";
import { makePod } from "./container/make-pod.fixture.ts";
import { canMountRecursively, runtimeHandlerOf } from "./runtime-handlers.ts";

const metadata = { name: "sealed" };
const sealed = { apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", metadata, handler: "vm" };
const handlerOf = (runtimeClassName?: string) =>
  runtimeHandlerOf(makePod({ ...(runtimeClassName && { runtimeClassName }) }), (name) =>
    name === "sealed" ? sealed : undefined,
  );

test("a pod's handler is that of its class, and the runtime's own choice without one", () => {
  expect(handlerOf()).toBe("");
  expect(handlerOf("sealed")).toBe("vm");
  expect(() => handlerOf("other")).toThrow('runtimeclass.node.k8s.io "other" not found');
});

test.each([
  ["", true],
  ["vm", false],
  ["unknown", false],
])("handler %j mounts read-only all the way down: %s", (handler, can) => {
  const known = [{ name: "vm", features: {} }, { features: { recursiveReadOnlyMounts: true } }];
  expect(canMountRecursively(handler, known)).toBe(can);
});
