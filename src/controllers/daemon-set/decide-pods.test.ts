import { describe, expect, test } from "vitest";
import { now } from "../shared/workload.fixture.ts";
import { factsOf, nodeOf, noExecute, noSchedule, podOn, setOf } from "./daemon-set.fixture.ts";
import { decidePods } from "./decide-pods.ts";

type Given = Parameters<typeof factsOf>[0];

const none = new Map();
const [a, b, c] = [nodeOf("a"), nodeOf("b"), nodeOf("c")];

function plan(given: Given) {
  const { createOn, delete: deleted } = decidePods(factsOf(given), none);
  return { create: createOn, delete: deleted.map(({ metadata }) => metadata.name) };
}

const rolling = (rollingUpdate: object) =>
  setOf({ updateStrategy: { type: "RollingUpdate", rollingUpdate } });
const surge = (maxSurge: number | string) => rolling({ maxSurge, maxUnavailable: 0 });
const onDelete = setOf({ updateStrategy: { type: "OnDelete" } });
const notReady = { readyFor: undefined };
const waiting = (node: string) => ({
  node: "",
  spec: {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] }],
        },
      },
    },
  },
});

describe("one pod per node", () => {
  test.each<[string, Given, ReturnType<typeof plan>]>([
    [
      "creates a pod on each node without one",
      { nodes: [a, b, c], pods: [podOn("b", "new")] },
      { create: ["a", "c"], delete: [] },
    ],
    [
      "creates none on a node that is tainted",
      { nodes: [nodeOf("a", { taints: [noSchedule] })] },
      { create: [], delete: [] },
    ],
    [
      "keeps a pod on a node that was tainted NoSchedule",
      { nodes: [nodeOf("a", { taints: [noSchedule] })], pods: [podOn("a", "new")] },
      { create: [], delete: [] },
    ],
    [
      "deletes pods from a node that was tainted NoExecute",
      { nodes: [nodeOf("a", { taints: [noExecute] })], pods: [podOn("a", "new")] },
      { create: [], delete: ["a-new"] },
    ],
    [
      "does not delete a terminating pod again",
      { nodes: [nodeOf("a", { taints: [noExecute] })], pods: [podOn("a", "new", { deleting: true })] },
      { create: [], delete: [] },
    ],
    [
      "waits for a terminating pod",
      { nodes: [a], pods: [podOn("a", "new", { deleting: true })] },
      { create: [], delete: [] },
    ],
    [
      "replaces a deleted pod that has ended",
      { nodes: [a], pods: [podOn("a", "new", { deleting: true, phase: "Failed" })] },
      { create: ["a"], delete: [] },
    ],
    [
      "keeps the oldest of several pods",
      {
        nodes: [a],
        pods: [podOn("a", "new", { name: "second", age: 10 }), podOn("a", "new", { name: "first", age: 20 })],
      },
      { create: [], delete: ["second"] },
    ],
    [
      "keeps a bound pod rather than an older one that is not",
      {
        nodes: [a],
        pods: [
          podOn("a", "new", { name: "pending", age: 20, ...waiting("a") }),
          podOn("a", "new", { name: "bound", age: 10 }),
        ],
      },
      { create: [], delete: ["pending"] },
    ],
    [
      "counts a pod that is not bound yet",
      { nodes: [a], pods: [podOn("a", "new", waiting("a"))] },
      { create: [], delete: [] },
    ],
    [
      "deletes a pod that waits for a missing node",
      { nodes: [], pods: [podOn("a", "new", waiting("a"))] },
      { create: [], delete: ["a-new"] },
    ],
    [
      "leaves a pod that runs on a missing node to the garbage collector",
      { nodes: [], pods: [podOn("a", "new")] },
      { create: [], delete: [] },
    ],
  ])("%s", (_, given, expected) => {
    expect(plan(given)).toEqual(expected);
  });

  test("creates at most 250 pods at once", () => {
    const nodes = Array.from({ length: 300 }, (_, index) => nodeOf(`n${index}`));
    expect(plan({ nodes }).create).toHaveLength(250);
  });
});

describe("pods that have ended", () => {
  const failed = { nodes: [a], pods: [podOn("a", "new", { phase: "Failed", ...notReady })] };

  test("deletes a failed pod with an event, and the next one after a back-off that doubles", () => {
    const first = decidePods(factsOf(failed), none);
    expect(first.delete).toHaveLength(1);
    expect(first.events).toEqual([
      {
        type: "Warning",
        reason: "FailedDaemonPod",
        message: "Found failed daemon pod default/a-new on node a, will try to kill it",
      },
    ]);
    const at = (ms: number) => ({ ...factsOf(failed), now: now + ms });
    expect(decidePods(at(400), first.backOffs)).toMatchObject({
      delete: [],
      events: [],
      requeueAfterMs: 600,
    });
    const second = decidePods(at(1_000), first.backOffs);
    expect(second.delete).toHaveLength(1);
    expect(decidePods(at(1_000), second.backOffs)).toMatchObject({ delete: [], requeueAfterMs: 2_000 });
    const other = { nodes: [b], pods: [podOn("b", "new", { phase: "Failed" })] };
    expect(decidePods(factsOf(other), second.backOffs).delete).toHaveLength(1);
    const later = decidePods(at(31 * 60_000), second.backOffs);
    expect(later.backOffs.get("a")?.delayMs).toBe(1_000);
  });

  test("deletes a succeeded pod with an event", () => {
    const { delete: deleted, events } = decidePods(
      factsOf({ nodes: [a], pods: [podOn("a", "new", { phase: "Succeeded" })] }),
      none,
    );
    expect(deleted).toHaveLength(1);
    expect(events).toEqual([
      {
        type: "Normal",
        reason: "SucceededDaemonPod",
        message: "Found succeeded daemon pod default/a-new on node a, will try to delete it",
      },
    ]);
  });
});

describe("rolling updates", () => {
  const nodes = [a, b, c];
  const old = [podOn("a", "old"), podOn("b", "old"), podOn("c", "old")];

  test.each<[string, Given, ReturnType<typeof plan>]>([
    ["deletes maxUnavailable old pods", { nodes, pods: old }, { create: [], delete: ["a-old"] }],
    [
      "rounds a percentage up",
      { set: rolling({ maxUnavailable: "34%" }), nodes, pods: old },
      { create: [], delete: ["a-old", "b-old"] },
    ],
    [
      "creates missing pods before it deletes others",
      { nodes, pods: old.slice(1) },
      { create: ["a"], delete: [] },
    ],
    [
      "waits for a new pod to become ready",
      { nodes, pods: [podOn("a", "new", notReady), ...old.slice(1)] },
      { create: [], delete: [] },
    ],
    [
      "waits for a new pod to become available",
      {
        set: setOf({ minReadySeconds: 10 }),
        nodes,
        pods: [podOn("a", "new", { readyFor: 9 }), ...old.slice(1)],
      },
      { create: [], delete: [] },
    ],
    [
      "continues when the new pod is available",
      {
        set: setOf({ minReadySeconds: 10 }),
        nodes,
        pods: [podOn("a", "new", { readyFor: 10 }), ...old.slice(1)],
      },
      { create: [], delete: ["b-old"] },
    ],
    [
      "waits for a terminating pod",
      { nodes, pods: [podOn("a", "old", { deleting: true }), ...old.slice(1)] },
      { create: [], delete: [] },
    ],
    [
      "replaces unavailable old pods beyond maxUnavailable",
      { nodes, pods: [podOn("a", "old", notReady), podOn("b", "old", notReady), podOn("c", "old")] },
      { create: [], delete: ["a-old", "b-old"] },
    ],
    [
      "progresses with two zeros",
      { set: rolling({ maxUnavailable: 0, maxSurge: 0 }), nodes, pods: old },
      { create: [], delete: ["a-old"] },
    ],
    ["replaces nothing with OnDelete", { set: onDelete, nodes, pods: old }, { create: [], delete: [] }],
    ["is complete", { nodes: [a], pods: [podOn("a", "new")] }, { create: [], delete: [] }],
  ])("without surge: %s", (_, given, expected) => {
    expect(plan(given)).toEqual(expected);
  });

  test.each<[string, Given, ReturnType<typeof plan>]>([
    ["creates maxSurge new pods", { set: surge(1), nodes, pods: old }, { create: ["a"], delete: [] }],
    ["rounds a percentage up", { set: surge("34%"), nodes, pods: old }, { create: ["a", "b"], delete: [] }],
    [
      "keeps the old pod while the new one is not ready",
      { set: surge(1), nodes, pods: [podOn("a", "new", notReady), ...old] },
      { create: [], delete: [] },
    ],
    [
      "deletes the old pod when the new one is available",
      { set: surge(1), nodes, pods: [podOn("a", "new"), ...old] },
      { create: [], delete: ["a-old"] },
    ],
    [
      "deletes an old pod that is not ready once it has a successor",
      { set: surge(1), nodes: [a], pods: [podOn("a", "new", notReady), podOn("a", "old", notReady)] },
      { create: [], delete: ["a-old"] },
    ],
    [
      "creates pods beside unavailable old ones beyond maxSurge",
      {
        set: surge(1),
        nodes,
        pods: [podOn("a", "old", notReady), podOn("b", "old", notReady), podOn("c", "old")],
      },
      { create: ["a", "b", "c"], delete: [] },
    ],
    [
      "replaces a terminating pod at once",
      { set: surge(1), nodes: [a], pods: [podOn("a", "new", { deleting: true })] },
      { create: ["a"], delete: [] },
    ],
    [
      "deletes all but the oldest pod of each template",
      {
        set: surge(1),
        nodes: [a],
        pods: [
          podOn("a", "new", { name: "x", age: 5, ...notReady }),
          podOn("a", "new", { name: "y", age: 3 }),
          podOn("a", "old"),
        ],
      },
      { create: [], delete: ["y"] },
    ],
    [
      "deletes old pods from nodes that it has left when others are available",
      {
        set: surge(1),
        nodes: [a, nodeOf("b", { taints: [noSchedule] })],
        pods: [podOn("a", "new"), podOn("b", "old")],
      },
      { create: [], delete: ["b-old"] },
    ],
    [
      "keeps an old pod on a node that it has left while others are not available",
      {
        set: surge(1),
        nodes: [a, nodeOf("b", { taints: [noSchedule] })],
        pods: [podOn("a", "new", notReady), podOn("b", "old")],
      },
      { create: [], delete: [] },
    ],
  ])("with surge: %s", (_, given, expected) => {
    expect(plan(given)).toEqual(expected);
  });
});
