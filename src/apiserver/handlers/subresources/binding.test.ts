import { expect, test } from "vitest";
import type { Pod } from "../../../api/meta/objects.ts";
import { makePod, sentences } from "../../../api/pod/pod.fixture.ts";
import { type Binding, bindPod } from "./binding.ts";

const now = Date.parse("2026-01-02T03:04:05.678Z");

function makeBinding(target: Partial<Binding["target"]> = {}): Binding {
  return {
    apiVersion: "v1",
    kind: "Binding",
    metadata: { name: "web", annotations: { a: "1" }, labels: { zone: "z" } },
    target: { kind: "Node", name: "node-1", ...target },
  };
}

test("rejects a binding with the UID of another pod", () => {
  const pod: Pod = { ...makePod(), metadata: { name: "web", uid: "new" } };
  const binding = makeBinding();
  binding.metadata.uid = "old";
  expect(bindPod(pod, binding, now)).toEqual({
    kind: "conflict",
    message: "Precondition failed: UID in precondition: old, UID in object meta: new",
  });
  binding.metadata.uid = "new";
  expect(bindPod(pod, binding, now).kind).toBe("bound");
});

test("sets the node, PodScheduled and the metadata of the binding", () => {
  const pod: Pod = {
    ...makePod(),
    metadata: { name: "web", namespace: "default", labels: { app: "web" } },
    status: {
      phase: "Pending",
      nominatedNodeName: "node-2",
      conditions: [{ type: "Ready", status: "False" }],
    },
  };
  const before = structuredClone(pod);
  const result = bindPod(pod, makeBinding(), now);
  expect(result).toMatchObject({
    kind: "bound",
    pod: {
      metadata: { labels: { app: "web", zone: "z" }, annotations: { a: "1" } },
      spec: { nodeName: "node-1" },
    },
  });
  expect(result.kind === "bound" && result.pod.status).toEqual({
    phase: "Pending",
    conditions: [
      { type: "Ready", status: "False" },
      { type: "PodScheduled", status: "True", lastTransitionTime: "2026-01-02T03:04:05Z" },
    ],
  });
  expect(pod).toEqual(before);
});

test.each<[string, Pod, string]>([
  ["assigned", makePod({ nodeName: "n" }), 'pod web is already assigned to node "n"'],
  ["gated", makePod({ schedulingGates: [{ name: "a" }] }), "pod web has non-empty .spec.schedulingGates"],
  [
    "being deleted",
    { ...makePod(), metadata: { name: "web", deletionTimestamp: "t" } },
    "pod web is being deleted, cannot be assigned to a host",
  ],
])("a pod that is %s is a conflict", (_, pod, message) => {
  expect(bindPod(pod, makeBinding(), now)).toEqual({ kind: "conflict", message });
});

test.each<[Partial<Binding["target"]>, string[]]>([
  [{ kind: "Pod" }, ['target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"']],
  [{ name: "" }, ["target.name: Required value"]],
])("a binding to %j is invalid", (target, expected) => {
  const result = bindPod(makePod(), makeBinding(target), now);
  expect(result.kind === "invalid" && sentences(result.errors)).toEqual(expected);
});
