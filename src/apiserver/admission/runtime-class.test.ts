import { expect, test } from "vitest";
import type { PodSpec, RuntimeClass } from "../../api/meta/objects.ts";
import { makePod } from "../../api/pod/pod.fixture.ts";
import { applyRuntimeClass } from "./object-defaults.ts";

const sandboxed: RuntimeClass = {
  apiVersion: "node.k8s.io/v1",
  kind: "RuntimeClass",
  metadata: { name: "sandboxed" },
  handler: "sandboxed",
  overhead: { podFixed: { cpu: "100m" } },
  scheduling: {
    nodeSelector: { sandbox: "yes" },
    tolerations: [{ key: "sandbox", operator: "Exists" }],
  },
};

test("sets overhead and scheduling of the RuntimeClass on a pod", () => {
  const pod = makePod({
    runtimeClassName: "sandboxed",
    nodeSelector: { disk: "ssd" },
    tolerations: [
      { key: "sandbox", operator: "Equal", value: "a" },
      { key: "own", operator: "Exists" },
    ],
  });
  expect(applyRuntimeClass(pod, sandboxed)).toBeUndefined();
  expect(pod.spec).toMatchObject({
    overhead: { cpu: "100m" },
    nodeSelector: { disk: "ssd", sandbox: "yes" },
    // The wider toleration makes the narrower one needless.
    tolerations: [
      { key: "own", operator: "Exists" },
      { key: "sandbox", operator: "Exists" },
    ],
  });
});

test.each<[Partial<PodSpec>, RuntimeClass | undefined, string | undefined]>([
  [{}, undefined, undefined],
  [{ runtimeClassName: "nope" }, undefined, 'pod rejected: RuntimeClass "nope" not found'],
  [
    { overhead: { cpu: "1" } },
    undefined,
    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
  ],
  [{ runtimeClassName: "sandboxed", overhead: { cpu: "100m" } }, sandboxed, undefined],
  [
    { runtimeClassName: "sandboxed", overhead: { cpu: "1" } },
    sandboxed,
    "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
  ],
  [
    { runtimeClassName: "sandboxed", nodeSelector: { sandbox: "no" } },
    sandboxed,
    "conflict: runtimeClass.scheduling.nodeSelector[sandbox] = yes; pod.spec.nodeSelector[sandbox] = no",
  ],
])("%j", (spec, runtimeClass, expected) => {
  expect(applyRuntimeClass(makePod(spec), runtimeClass)).toBe(expected);
});
