import { describe, expect, test } from "vitest";
import { decideStatefulSet } from "./decide-stateful-set.ts";
import { actionsOf, makeClaim, makeFacts, makeSet, type SetOptions, update } from "./stateful-set.fixture.ts";

const policies = ["OrderedReady", "Parallel"] as const;
const recreate = (options: SetOptions = {}): SetOptions => ({ ...options, type: "Recreate" });

describe.each(policies)("%s: old pods go before a new one comes", (policy) => {
  const decide = (pods: readonly string[], options: SetOptions = {}) =>
    decideStatefulSet(makeFacts(makeSet(recreate({ ...options, policy })), pods));

  test.each<[string, SetOptions, readonly string[], readonly string[]]>([
    [
      "all at once, well or not",
      {},
      ["0 old ready", "1 old failing", "2 old permanent"],
      ["delete 0 updated", "delete 1 updated", "delete 2 updated"],
    ],
    ["also those that have ended", {}, ["0 old Failed", "1 new ready"], ["delete 0 updated"]],
    [
      "whatever is to go anyway with them",
      { replicas: 1 },
      ["0 new ready", "1 old ready"],
      ["delete 1 updated"],
    ],
    ["nothing is created while one is there", {}, ["1 old ready"], ["delete 1 updated"]],
    ["nor while one is going", {}, ["1 old going", "2 new ready"], []],
    ["nor is anything else done", { replicas: 1 }, ["0 old going", "1 new ready"], []],
    ["pods of a third revision are old", {}, ["0 other ready", "1 new ready"], ["delete 0 updated"]],
    ["new ones stay", {}, ["0 new ready", "1 new ready", "2 new ready"], []],
    // It cannot be stored so, and must not create what is deleted at once.
    ["a partition changes nothing", { partition: 3 }, ["0 old ready"], ["delete 0 updated"]],
    ["with start ordinals", { start: 5 }, ["5 old ready", "7 old going"], ["delete 5 updated"]],
  ])("%s", (_, options, pods, actions) => {
    const plan = decide(pods, options);
    expect(actionsOf(plan)).toEqual(actions);
    if (actions.length > 0) expect(plan.burst).toBe(true);
  });

  test("a set that is deleted is left to others", () => {
    const set = makeSet(recreate({ policy }));
    const going = { ...set, metadata: { ...set.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
    expect(actionsOf(decideStatefulSet(makeFacts(going, ["0 old ready"])))).toEqual([]);
  });

  test("claims that go with a pod are given to it before it goes", () => {
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
])("then the new ones come as the policy has it: %j %j", (options, pods, actions) => {
  expect(actionsOf(decideStatefulSet(makeFacts(makeSet(recreate(options)), pods)))).toEqual(actions);
});

describe("the condition, as upstream has it", () => {
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
    ["old ones are there", ["0 old ready", "1 new ready"], deleting],
    ["old ones are going", ["0 old going"], deleting],
    ["none is there", [], waiting],
    ["one is coming", ["0 new coming"], waiting],
    ["all are well", ["0 new ready", "1 new ready"], completed],
    [
      "one holds the others up",
      ["0 new failing"],
      ["False", "ImagePullBackOff", "pod web-0 holds up the set: container c: ImagePullBackOff"],
    ],
  ])("%s", (_, pods, expected) => {
    expect(progress(pods)).toEqual(expected);
  });

  test("it stays until something else happens", () => {
    const well = ["0 new ready", "1 new ready"];
    const after = { was: "RecreateCompleted", first: true };
    expect(progress(well, after)).toEqual(completed);
    expect(progress([...well, "2 new ready"], after)).toEqual([
      "True",
      "ScalingDown",
      "1 pods more than wanted",
    ]);
  });

  test("a set that was never updated was not recreated", () => {
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
