import { expect, test } from "vitest";
import type { Node, Pod } from "../../api/meta/objects.ts";
import { ago, now, podOf } from "../shared/workload.fixture.ts";
import { decideGarbage, failedStatus } from "./pod-gc-controller.ts";

const node = (ready: string, taints: string[] = []): Node => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "n1" },
  spec: { taints: taints.map((key) => ({ key, effect: "NoExecute" })) },
  status: { conditions: [{ type: "Ready", status: ready }] },
});
const decide = (pods: Pod[], options: Partial<Parameters<typeof decideGarbage>[0]> = {}) =>
  decideGarbage({ pods, node: () => node("True"), missingSince: new Map(), keepEnded: 0, now, ...options });
const names = (plan: ReturnType<typeof decide>) => plan.deletions.map(({ pod }) => pod.metadata.name);

test("deletes evicted, then the oldest of the terminated pods above the threshold", () => {
  const pods = [
    podOf({ name: "young", phase: "Succeeded", age: 10 }),
    podOf({ name: "old", phase: "Failed", age: 900 }),
    podOf({ name: "evicted", phase: "Failed", age: 5, status: { reason: "Evicted", phase: "Failed" } }),
    podOf({ name: "running", age: 9_000 }),
  ];
  expect(names(decide(pods, { keepEnded: 1 }))).toEqual(["evicted", "old"]);
  expect(names(decide(pods, { keepEnded: 3 }))).toEqual([]);
  expect(names(decide(pods, { keepEnded: 0 }))).toEqual([]);
});

test("deletes an unscheduled pod that is terminating", () => {
  const pods = [podOf({ name: "gone", node: "", deleting: true }), podOf({ name: "waits", node: "" })];
  expect(decide(pods).deletions).toEqual([{ pod: pods[0], why: "unscheduled" }]);
});

test.each([
  ["a node that is out of service", node("False", ["node.kubernetes.io/out-of-service"]), ["gone"]],
  ["a tainted node that is ready", node("True", ["node.kubernetes.io/out-of-service"]), []],
  ["a node that is only not ready", node("False"), []],
])("terminating pods on %s", (_, at, expected) => {
  const pods = [podOf({ name: "gone", deleting: true }), podOf({ name: "stays" })];
  expect(names(decide(pods, { node: () => at }))).toEqual(expected);
});

test("keeps the pods of a missing node for the quarantine time", () => {
  const pods = [podOf({ name: "orphan", node: "lost" })];
  const missing = () => undefined;
  const first = decide(pods, { node: missing });
  expect([...first.orphans]).toEqual([]);
  const { missingSince } = first;
  expect([...decide(pods, { node: missing, missingSince, now: now + 39_999 }).orphans]).toEqual([]);
  expect([...decide(pods, { node: missing, missingSince, now: now + 40_000 }).orphans]).toEqual([
    ["lost", pods],
  ]);
  expect([...decide(pods, { missingSince, now: now + 40_000 }).missingSince]).toEqual([]);
});

test("marks a pod without a node as Failed", () => {
  expect(failedStatus(podOf(), { orphan: false, now })).toEqual({ phase: "Failed" });
  expect(failedStatus(podOf(), { orphan: true, now })).toEqual({
    phase: "Failed",
    conditions: [
      {
        type: "DisruptionTarget",
        status: "True",
        reason: "DeletionByPodGC",
        message: "PodGC: node no longer exists",
        lastTransitionTime: ago(0),
      },
    ],
  });
  expect(failedStatus(podOf({ phase: "Succeeded" }), { orphan: true, now })).toBeUndefined();
});
