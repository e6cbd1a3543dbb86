import { describe, expect, test } from "vitest";
import { StatusError } from "../../api/meta/status-error.ts";
import {
  before,
  decide,
  enforced,
  makePod,
  makeSet,
  neverUnstick,
  now,
  parallel,
  permanentOnly,
} from "./stateful-set.fixture.ts";
import type { PodAction } from "./stateful-set-facts.ts";
import { statusAfter, statusToWrite, withCondition } from "./stateful-set-status.ts";

const status = { replicas: 3, currentReplicas: 2, currentRevision: "old", conditions: [] };
const rolled = (line: string): PodAction => ({
  kind: "deletePod",
  pod: makePod(makeSet(), line),
  why: "updated",
});

describe("statusAfter", () => {
  test("subtracts replaced pods of the current revision", () => {
    const done = new Set([rolled("2 old ready"), rolled("1 third ready")]);
    expect(statusAfter(status, { done, now }).currentReplicas).toBe(1);
  });

  test.each([
    [
      new StatusError(403, "Forbidden", "exceeded quota"),
      [
        { type: "Progressing", status: "False", reason: "Forbidden", message: "exceeded quota" },
        { type: "RolloutComplete", status: "False", reason: "Forbidden", message: "exceeded quota" },
      ],
    ],
    [new StatusError(409, "Conflict", "modified"), []],
    [new Error("connection lost"), []],
  ])(
    "%s is reported in the condition only if it is a status error without conflict",
    (failure, conditions) => {
      expect(statusAfter(status, { done: new Set(), failure, now }).conditions).toMatchObject(conditions);
    },
  );
});

describe("a failure to change a pod", () => {
  const failure = new StatusError(403, "Forbidden", "exceeded quota");
  const afterFailure = (...conditions: object[]) =>
    statusAfter({ ...status, conditions } as typeof status, { done: new Set(), failure, now }).conditions;

  test("3541-12 does not replace an exceeded deadline, and is added to its message", () => {
    const exceeded = { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" };
    const message = "pod web-2 is not created: exceeded quota";
    expect(afterFailure({ ...exceeded, message: "pod web-2 is not created" })).toMatchObject([
      { ...exceeded, message },
      { type: "RolloutComplete", status: "False", reason: "ProgressDeadlineExceeded", message },
    ]);
  });

  test("3541-12 does not undo a complete rollout", () => {
    const complete = { type: "RolloutComplete", status: "True", reason: "RolloutComplete" };
    expect(
      afterFailure({ type: "Progressing", status: "True", reason: "RolloutComplete" }, complete),
    ).toMatchObject([{ type: "Progressing", status: "False", reason: "Forbidden" }, complete]);
  });
});

test("changes the transition time only with the status", () => {
  const condition = { type: "Progressing", status: "True", reason: "A", message: "a" };
  const first = withCondition(status, condition, Date.parse(before));
  expect(withCondition(first, { ...condition, reason: "B" }, now).conditions).toEqual([
    { ...condition, reason: "B", lastTransitionTime: before },
  ]);
  expect(
    withCondition(first, { ...condition, status: "False" }, now).conditions?.[0]?.lastTransitionTime,
  ).toBe("2026-01-01T00:10:00Z");
});

describe("statusToWrite", () => {
  const set = { ...makeSet(), status: { ...status, observedGeneration: 5 } };

  test("is undefined if nothing changes", () => {
    expect(statusToWrite(set, { ...status, observedGeneration: 5, readyReplicas: 0 })).toBeUndefined();
  });

  test("keeps the newer generation and omits the zeros that upstream omits", () => {
    expect(statusToWrite(set, { ...status, currentReplicas: 0, observedGeneration: 4 })).toEqual({
      replicas: 3,
      currentRevision: "old",
      conditions: [],
      observedGeneration: 5,
    });
  });
});

test.each([
  [{}, ["0 new ready", "1 new ready", "2 new ready"], "True", "RolloutComplete", "3 pods run new"],
  [
    { partition: 2 },
    ["0 old ready", "1 old ready", "2 new ready"],
    "True",
    "RolloutComplete",
    "1 pods run new, 2 below the partition",
  ],
  [{}, [], "True", "CreatingPods", "0 of 3 pods are created"],
  [
    {},
    ["0 new creating"],
    "True",
    "ContainerCreating",
    "waiting for pod web-0: container c: ContainerCreating",
  ],
  [
    {},
    ["0 new ready", "1 new terminating"],
    "True",
    "PodTerminating",
    "waiting for pod web-1: is being deleted",
  ],
  [
    {},
    ["0 old ready", "1 old ready", "2 old ready"],
    "True",
    "UpdatingPods",
    "3 of 3 pods do not run new yet",
  ],
  [{ replicas: 1 }, ["0 new ready", "1 new ready"], "True", "ScalingDown", "1 pods more than wanted"],
  [
    { type: "OnDelete", replicas: 1 },
    ["0 old ready"],
    "True",
    "WaitingForDelete",
    "1 of 1 pods do not run new yet",
  ],
  [
    {},
    ["0 new ready", "1 new failing"],
    "False",
    "ImagePullBackOff",
    "pod web-1 blocks the rollout: container c: ImagePullBackOff",
  ],
  [
    {},
    ["0 old ready", "1 old ready", "2 old permanent"],
    "False",
    "InvalidImageName",
    "pod web-2 blocks the rollout: container c: InvalidImageName; it runs old instead of new, and RollingUpdate does not replace it: delete the pod, or use EnforcedRollingUpdate",
  ],
  // A pod that is replaced anyway is not waited for.
  [
    enforced,
    ["0 old failing", "1 old failing", "2 new creating"],
    "True",
    "ContainerCreating",
    "waiting for pod web-2: container c: ContainerCreating",
  ],
  [
    enforced,
    ["0 old failing", "1 old ready", "2 new failing"],
    "False",
    "ImagePullBackOff",
    "pod web-2 blocks the rollout: container c: ImagePullBackOff",
  ],
  [
    permanentOnly,
    ["0 old ready", "1 old ready", "2 old failing"],
    "False",
    "ImagePullBackOff",
    "pod web-2 blocks the rollout: container c: ImagePullBackOff",
  ],
  [
    permanentOnly,
    ["0 old ready", "1 old ready", "2 old permanent+pulling"],
    "False",
    "InvalidImageName",
    "pod web-2 blocks the rollout: container c: InvalidImageName",
  ],
  [
    neverUnstick,
    ["0 old ready", "1 old ready", "2 old permanent"],
    "False",
    "InvalidImageName",
    "pod web-2 blocks the rollout: container c: InvalidImageName; it runs old instead of new, and annotation kindling.dev/unstick does not allow replacing it: delete the pod, or change the annotation",
  ],
  [
    { type: "OnDelete" },
    ["0 old ready", "1 old ready", "2 old failing"],
    "False",
    "ImagePullBackOff",
    "pod web-2 blocks the rollout: container c: ImagePullBackOff; it runs old instead of new, and OnDelete does not replace it: delete the pod, or use EnforcedRollingUpdate",
  ],
  [
    parallel,
    ["0 new ready", "1 new failing", "2 new creating"],
    "False",
    "ImagePullBackOff",
    "pod web-1 blocks the rollout: container c: ImagePullBackOff",
  ],
] as const)("Progressing of %j %j: %s, %s", (options, pods, status, reason, message) => {
  const lastTransitionTime = new Date(now).toISOString().replace(".000", "");
  const rest = { reason, message, lastTransitionTime };
  expect(decide(options, pods).status.conditions).toEqual([
    { type: "Progressing", status, ...rest },
    { type: "RolloutComplete", status: reason === "RolloutComplete" ? "True" : "False", ...rest },
  ]);
});
