import { expect, test } from "vitest";
import { containerFieldPath } from "./container-field-path.ts";
import { podOf } from "./pod/kill.fixture.ts";

test("events name a container by its place in the spec", () => {
  const pod = podOf({ containers: [{ name: "a" }], initContainers: [{ name: "b" }] });
  expect(containerFieldPath(pod, "a")).toBe("spec.containers{a}");
  expect(containerFieldPath(pod, "b")).toBe("spec.initContainers{b}");
});
