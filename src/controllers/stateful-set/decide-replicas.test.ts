import { describe, expect, test } from "vitest";
import { decideStatefulSet } from "./decide-stateful-set.ts";
import {
  actionsOf,
  decisions,
  expectDecision,
  makeClaim,
  makeFacts,
  makeSet,
  parallel,
  type SetOptions,
  update,
} from "./stateful-set.fixture.ts";

describe("replicas", () => {
  test.each(
    decisions([
      [{}, [], ["create 0 new"]],
      [{}, ["0 new ready"], ["create 1 new"]],
      [{}, ["0 new creating"], []],
      [{}, ["0 new failing"], []],
      [{}, ["0 new terminating"], []],
      [{}, ["0 new ready", "2 new ready"], ["create 1 new"]],
      [{}, ["0 new ready", "1 new ready", "2 new ready"], []],
      [{ replicas: 0 }, [], []],
      [{ start: 3 }, [], ["create 3 new"]],
      [{ start: 3 }, ["3 new ready", "4 new ready"], ["create 5 new"]],
      [{ minReadySeconds: 10 }, ["0 new justReady"], []],
      [{ minReadySeconds: 4 }, ["0 new justReady"], ["create 1 new"]],
      [parallel, [], ["create 0 new", "create 1 new", "create 2 new"]],
      [parallel, ["0 new failing", "2 new terminating"], ["create 1 new"]],
      // A terminated pod is deleted, and recreated once it is gone.
      [{}, ["0 new ready", "1 new Failed", "2 new Succeeded"], ["delete 1 ended"]],
      [parallel, ["0 new ready", "1 new Failed", "2 new Succeeded"], ["delete 1 ended", "delete 2 ended"]],
    ]),
  )("%s", expectDecision);
});

describe("RollingUpdate", () => {
  test.each(
    decisions([
      [{}, ["0 old ready", "1 old ready", "2 old ready"], ["delete 2 updated"]],
      [{}, ["0 old ready", "1 old ready", "2 new ready"], ["delete 1 updated"]],
      [{}, ["0 old ready", "1 old ready", "2 new creating"], []],
      [{}, ["0 old ready", "1 old ready", "2 old failing"], [], "3541-2"],
      [{}, ["0 old failing", "1 old failing", "2 old failing"], [], "3541-2"],
      [{}, ["0 old permanent"], [], "3541-2"],
      [{ partition: 1 }, ["0 old ready", "1 old ready", "2 new ready"], ["delete 1 updated"]],
      [{ partition: 1 }, ["0 old ready", "1 new ready", "2 new ready"], []],
      [{ partition: 9 }, ["0 old ready", "1 old ready", "2 old ready"], []],
      [
        { maxUnavailable: 2 },
        ["0 old ready", "1 old ready", "2 old ready"],
        ["delete 2 updated", "delete 1 updated"],
      ],
      [
        { maxUnavailable: "67%" },
        ["0 old ready", "1 old ready", "2 old ready"],
        ["delete 2 updated", "delete 1 updated"],
      ],
      [{ maxUnavailable: "1%" }, ["0 old ready", "1 old ready", "2 old ready"], ["delete 2 updated"]],
      [
        { maxUnavailable: 2, partition: 2 },
        ["0 old ready", "1 old ready", "2 old ready"],
        ["delete 2 updated"],
      ],
      [{ minReadySeconds: 10 }, ["0 old ready", "1 old ready", "2 new justReady"], []],
      [{ type: "OnDelete" }, ["0 old ready", "1 old ready", "2 old ready"], []],
      [
        parallel,
        ["0 old failing", "1 old failing", "2 old failing"],
        ["delete 2 updated", "delete 1 updated", "delete 0 updated"],
        "3541-5",
      ],
      [parallel, ["0 old ready", "1 old failing", "2 old ready"], ["delete 1 updated"], "3541-5"],
      [
        { ...parallel, maxUnavailable: 2 },
        ["0 old ready", "1 old failing", "2 old ready"],
        ["delete 1 updated", "delete 2 updated"],
      ],
      [parallel, ["0 old ready", "1 old ready", "2 new failing"], []],
      [parallel, ["0 old ready", "1 old ready", "2 old terminating"], []],
      [
        { ...parallel, partition: 2 },
        ["0 old failing", "1 old failing", "2 old failing"],
        ["delete 2 updated"],
      ],
    ]),
  )("%s", expectDecision);
});

const policies = ["OrderedReady", "Parallel"] as const;
const recreate = (options: SetOptions = {}): SetOptions => ({ ...options, type: "Recreate" });

describe.each(policies)("%s: old pods are deleted before a new one is created", (policy) => {
  const decide = (pods: readonly string[], options: SetOptions = {}) =>
    decideStatefulSet(makeFacts(makeSet(recreate({ ...options, policy })), pods));

  test.each<[string, SetOptions, readonly string[], readonly string[]]>([
    [
      "deletes all at once, healthy or not",
      {},
      ["0 old ready", "1 old failing", "2 old permanent"],
      ["delete 0 updated", "delete 1 updated", "delete 2 updated"],
    ],
    ["deletes terminated pods too", {}, ["0 old Failed", "1 new ready"], ["delete 0 updated"]],
    [
      "deletes condemned pods with them",
      { replicas: 1 },
      ["0 new ready", "1 old ready"],
      ["delete 1 updated"],
    ],
    ["creates nothing while one exists", {}, ["1 old ready"], ["delete 1 updated"]],
    ["creates nothing while one is terminating", {}, ["1 old terminating", "2 new ready"], []],
    ["does not scale while one is terminating", { replicas: 1 }, ["0 old terminating", "1 new ready"], []],
    ["treats pods of a third revision as old", {}, ["0 other ready", "1 new ready"], ["delete 0 updated"]],
    ["keeps new pods", {}, ["0 new ready", "1 new ready", "2 new ready"], []],
    // Validation rejects it; it must not create pods that are deleted at once.
    ["ignores a partition", { partition: 3 }, ["0 old ready"], ["delete 0 updated"]],
    ["with start ordinals", { start: 5 }, ["5 old ready", "7 old terminating"], ["delete 5 updated"]],
  ])("%s", (_, options, pods, actions) => {
    const plan = decide(pods, options);
    expect(actionsOf(plan)).toEqual(actions);
    if (actions.length > 0) expect(plan.burst).toBe(true);
  });

  test("ignores a set that is being deleted", () => {
    const set = makeSet(recreate({ policy }));
    const going = { ...set, metadata: { ...set.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
    expect(actionsOf(decideStatefulSet(makeFacts(going, ["0 old ready"])))).toEqual([]);
  });

  test("sets the pod as owner of its claims before it deletes the pod", () => {
    const retention = { whenScaled: "Delete", whenDeleted: "Retain" };
    const set = makeSet(recreate({ policy, replicas: 1, claims: true, retention }));
    const claims = ["data-web-0", "data-web-1"].map((name) => makeClaim(name));
    const plan = decideStatefulSet(makeFacts(set, ["0 old ready", "1 old ready"], claims));
    expect(actionsOf(plan)).toEqual(["own data-web-1 Pod", "delete 0 updated", "delete 1 updated"]);
    expect(plan.phases).toHaveLength(2);
  });
});

test.each<[SetOptions, readonly string[], readonly string[]]>([
  [{}, [], ["create 0 new"]],
  [{ currentReplicas: 3 }, ["0 new ready"], ["create 1 new"]],
  [{}, ["0 new failing"], []],
  [{ partition: 3 }, [], ["create 0 new"]],
  [{ policy: "Parallel" }, ["1 new failing"], ["create 0 new", "create 2 new"]],
  [{ replicas: 1 }, ["0 new ready", "1 new ready"], ["delete 1 scaledDown"]],
])("then creates new pods according to the policy: %j %j", (options, pods, actions) => {
  expect(actionsOf(decideStatefulSet(makeFacts(makeSet(recreate(options)), pods)))).toEqual(actions);
});

describe("the condition of upstream", () => {
  const deleting = ["True", "RecreateInProgress", "Deleting old revision pods"];
  const waiting = ["True", "RecreateInProgress", "Waiting for new-revision pods to be created"];
  const completed = ["False", "RecreateCompleted", "All pods recreated successfully"];

  function progress(pods: readonly string[], { was, first }: { was?: string; first?: boolean } = {}) {
    const facts = makeFacts(makeSet(recreate({ replicas: 2 })), pods);
    const conditions = was ? [{ type: "Progressing", status: "True", reason: was }] : undefined;
    const set = { ...facts.set, status: { replicas: 0, conditions } };
    const { status } = decideStatefulSet({ ...facts, set, ...(first && { current: update }) });
    const [condition] = status.conditions ?? [];
    return [condition?.status, condition?.reason, condition?.message];
  }

  test.each([
    ["old pods exist", ["0 old ready", "1 new ready"], deleting],
    ["old pods are terminating", ["0 old terminating"], deleting],
    ["no pods exist", [], waiting],
    ["a new pod is starting", ["0 new creating"], waiting],
    ["all new pods are ready", ["0 new ready", "1 new ready"], completed],
    [
      "a new pod blocks the others",
      ["0 new failing"],
      ["False", "ImagePullBackOff", "pod web-0 blocks the rollout: container c: ImagePullBackOff"],
    ],
  ])("%s", (_, pods, expected) => {
    expect(progress(pods)).toEqual(expected);
  });

  test("stays until something changes", () => {
    const well = ["0 new ready", "1 new ready"];
    const after = { was: "RecreateCompleted", first: true };
    expect(progress(well, after)).toEqual(completed);
    expect(progress([...well, "2 new ready"], after)).toEqual([
      "True",
      "ScalingDown",
      "1 pods more than wanted",
    ]);
  });

  test("is not RecreateCompleted for a set that was never updated", () => {
    expect(progress(["0 new ready"], { first: true })).toEqual([
      "True",
      "CreatingPods",
      "1 of 2 pods are created",
    ]);
    expect(progress(["0 new ready", "1 new ready"], { was: "CreatingPods", first: true })).toEqual([
      "True",
      "RolloutComplete",
      "2 pods run new",
    ]);
  });
});
