import { expect, test } from "vitest";
import { podOf } from "../pods/kill.fixture.ts";
import { containerFieldPath } from "./pod-names.ts";

test("events refer to a container by its field path", () => {
  const pod = podOf({ containers: [{ name: "a" }], initContainers: [{ name: "b" }] });
  expect(containerFieldPath(pod, "a")).toBe("spec.containers{a}");
  expect(containerFieldPath(pod, "b")).toBe("spec.initContainers{b}");
});
