import { expect, test } from "vitest";
import { answer, networkDown, now } from "./node.fixture.ts";
import { type ConditionFacts, nodeConditions } from "./node-conditions.ts";

function ready(facts: Partial<ConditionFacts>) {
  const all = { runtime: answer(), shuttingDown: false, previous: [], now, ...facts };
  return nodeConditions(all).at(-1);
}

const runtimeDown = { ...networkDown, type: "RuntimeReady", reason: "Broken", message: "no" };

test.each<[string, Partial<ConditionFacts>, string]>([
  ["no answer yet", { runtime: undefined }, "container runtime status check may not have completed yet"],
  [
    "no network",
    { runtime: answer(networkDown) },
    "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized",
  ],
  [
    "no runtime",
    { runtime: answer(runtimeDown) },
    "container runtime not ready: RuntimeReady=false reason:Broken message:no",
  ],
  ["silent for too long", { now: now + 30_000 }, "container runtime is down"],
  ["shutting down", { shuttingDown: true }, "node is shutting down"],
  [
    "several",
    { now: now + 40_000, shuttingDown: true },
    "[container runtime is down, node is shutting down]",
  ],
])("not ready: %s", (_, facts, message) => {
  expect(ready(facts)).toMatchObject({ status: "False", reason: "KubeletNotReady", message });
});

test("a runtime that says nothing of itself", () => {
  const runtime = answer();
  const silent = { ...runtime, status: { ...runtime.status, status: undefined } };
  expect(ready({ runtime: silent })?.message).toBe(
    "[container runtime not ready: <nil>, container runtime network not ready: <nil>]",
  );
});

test("a runtime that is restarted does not make the node unready", () => {
  expect(ready({ now: now + 29_000 })).toMatchObject({ status: "True" });
});

test("the time of the transition moves with the status, the heartbeat always", () => {
  const previous = [
    { type: "Ready", status: "True", lastTransitionTime: "a" },
    { type: "PIDPressure", status: "Unknown", lastTransitionTime: "a" },
  ];
  const conditions = nodeConditions({ runtime: answer(), shuttingDown: false, previous, now });
  expect(conditions.map(({ type, lastTransitionTime }) => [type, lastTransitionTime])).toEqual([
    ["MemoryPressure", "2022-12-06T15:33:47Z"],
    ["DiskPressure", "2022-12-06T15:33:47Z"],
    ["PIDPressure", "2022-12-06T15:33:47Z"],
    ["Ready", "a"],
  ]);
});
