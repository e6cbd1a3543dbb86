import { expect, test } from "vitest";
import { answer, networkDown, now } from "./node.fixture.ts";
import { type ConditionFacts, nodeConditions } from "./node-conditions.ts";

const usual: ConditionFacts = {
  runtime: answer(),
  shuttingDown: false,
  pullProgress: "unknown",
  previous: [],
  now,
};

function ready(facts: Partial<ConditionFacts>) {
  return nodeConditions({ ...usual, ...facts }).at(-1);
}

const runtimeDown = { ...networkDown, type: "RuntimeReady", reason: "Broken", message: "no" };

test.each<[string, Partial<ConditionFacts>, string]>([
  ["no response yet", { runtime: undefined }, "container runtime status check may not have completed yet"],
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
  ["no response for too long", { now: now + 30_000 }, "container runtime is down"],
  ["shutting down", { shuttingDown: true }, "node is shutting down"],
  [
    "several",
    { now: now + 40_000, shuttingDown: true },
    "[container runtime is down, node is shutting down]",
  ],
])("not ready: %s", (_, facts, message) => {
  expect(ready(facts)).toMatchObject({ status: "False", reason: "KubeletNotReady", message });
});

test("a runtime without conditions", () => {
  const runtime = answer();
  const silent = { ...runtime, status: { ...runtime.status, status: undefined } };
  expect(ready({ runtime: silent })?.message).toBe(
    "[container runtime not ready: <nil>, container runtime network not ready: <nil>]",
  );
});

test("a restart of the runtime does not make the node unready", () => {
  expect(ready({ now: now + 29_000 })).toMatchObject({ status: "True" });
});

test("updates the transition time with the status and the heartbeat always", () => {
  const previous = [
    { type: "Ready", status: "True", lastTransitionTime: "a" },
    { type: "PIDPressure", status: "Unknown", lastTransitionTime: "a" },
  ];
  const conditions = nodeConditions({ ...usual, previous });
  expect(conditions.map(({ type, lastTransitionTime }) => [type, lastTransitionTime])).toEqual([
    ["MemoryPressure", "2022-12-06T15:33:47Z"],
    ["DiskPressure", "2022-12-06T15:33:47Z"],
    ["PIDPressure", "2022-12-06T15:33:47Z"],
    ["Ready", "a"],
  ]);
});

const unavailable = {
  type: "ImagePullProgressAvailable",
  status: "False",
  reason: "PullImageWithProgressNotImplemented",
  message:
    "the container runtime does not implement PullImageWithProgress: progress and no-progress timeout of image pulls are not available on this node",
};

test.each<[ConditionFacts["pullProgress"], object | undefined, object | undefined]>([
  ["unknown", undefined, undefined],
  ["available", undefined, undefined],
  ["disabled", undefined, undefined],
  ["unavailable", undefined, unavailable],
  ["unavailable", unavailable, unavailable],
  // After a restart of the kubelet, until the first pull.
  ["unknown", unavailable, unavailable],
  ["available", unavailable, { status: "True", reason: "PullImageWithProgressImplemented" }],
  ["disabled", unavailable, { status: "False", reason: "FeatureGateDisabled" }],
])("3542-7 ImagePullProgressAvailable with progress %s, after %j", (pullProgress, before, expected) => {
  const previous = before ? [{ ...unavailable, lastTransitionTime: "a" }] : [];
  const conditions = nodeConditions({ ...usual, pullProgress, previous });
  const found = conditions.find(({ type }) => type === unavailable.type);
  if (expected) expect(found).toMatchObject(expected);
  else expect(found).toBeUndefined();
  expect(conditions.at(-1)?.type).toBe("Ready");
});
