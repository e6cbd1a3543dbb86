import { describe, expect, test } from "vitest";
import { decideStatefulSet } from "./decide-stateful-set.ts";
import { actionsOf, makeClaim, makeFacts, makeSet, now, type SetOptions } from "./stateful-set.fixture.ts";

type Row = readonly [
  options: SetOptions,
  pods: readonly string[],
  actions: readonly string[],
  clause?: string,
];

function decide(options: SetOptions, pods: readonly string[], claims: Parameters<typeof makeFacts>[2] = []) {
  return decideStatefulSet(makeFacts(makeSet(options), pods, claims));
}

function check([options, pods, actions]: Row): void {
  expect(actionsOf(decide(options, pods))).toEqual(actions);
}

const rows = (table: Row[]) =>
  table.map((row): [string, Row] => {
    const [options, pods, actions, clause] = row;
    return [`${clause ?? ""} ${JSON.stringify([options, pods, actions])}`.trim(), row];
  });
const parallel = { policy: "Parallel" } as const;
const enforced = { type: "EnforcedRollingUpdate" };
const permanentOnly = { ...enforced, annotations: { "kindling.dev/unstick": "permanent-only" } };

describe("pods that should be there", () => {
  test.each(
    rows([
      [{}, [], ["create 0 new"]],
      [{}, ["0 new ready"], ["create 1 new"]],
      [{}, ["0 new coming"], []],
      [{}, ["0 new failing"], []],
      [{}, ["0 new going"], []],
      [{}, ["0 new ready", "2 new ready"], ["create 1 new"]],
      [{}, ["0 new ready", "1 new ready", "2 new ready"], []],
      [{ replicas: 0 }, [], []],
      [{ start: 3 }, [], ["create 3 new"]],
      [{ start: 3 }, ["3 new ready", "4 new ready"], ["create 5 new"]],
      [{ minReadySeconds: 10 }, ["0 new justReady"], []],
      [{ minReadySeconds: 4 }, ["0 new justReady"], ["create 1 new"]],
      [parallel, [], ["create 0 new", "create 1 new", "create 2 new"]],
      [parallel, ["0 new failing", "2 new going"], ["create 1 new"]],
      // What has ended is deleted, and made again once it is gone.
      [{}, ["0 new ready", "1 new Failed", "2 new Succeeded"], ["delete 1 ended"]],
      [parallel, ["0 new ready", "1 new Failed", "2 new Succeeded"], ["delete 1 ended", "delete 2 ended"]],
    ]),
  )("%s", (_, row) => check(row));
});

describe("which revision a new pod has", () => {
  test.each(
    rows([
      [{ partition: 2 }, [], ["create 0 old"]],
      [{ partition: 2, ...parallel }, [], ["create 0 old", "create 1 old", "create 2 new"]],
      [{ partition: 1, start: 5, ...parallel }, [], ["create 5 old", "create 6 new", "create 7 new"]],
      [{ partition: 0 }, ["0 old ready", "1 old ready"], ["create 2 new"]],
      // Without `rollingUpdate`, pods that were not updated come back as they were.
      [{ currentReplicas: 2 }, ["0 old ready"], ["create 1 old"]],
      [{ currentReplicas: 1 }, ["0 old ready"], ["create 1 new"]],
      [{ currentReplicas: 2, ...parallel }, ["1 old ready", "2 old ready"], ["create 0 new"]],
      [{ ...enforced, currentReplicas: 3 }, ["0 old ready", "1 old ready"], ["create 2 new"], "3541-7"],
      [
        { ...enforced, currentReplicas: 3, replicas: 4 },
        ["0 old ready", "1 old ready", "2 old ready"],
        ["create 3 new"],
        "3541-7",
      ],
      [{ ...enforced, partition: 2, ...parallel }, [], ["create 0 old", "create 1 old", "create 2 new"]],
      [{ type: "OnDelete", currentReplicas: 3 }, ["0 old ready"], ["create 1 new"]],
    ]),
  )("%s", (_, row) => check(row));
});

describe("pods that should not be there", () => {
  const one = { replicas: 1 };
  test.each(
    rows([
      [one, ["0 new ready", "1 new ready", "2 new ready"], ["delete 2 scaledDown"]],
      [one, ["0 new ready", "1 new ready", "2 new going"], []],
      // An unhealthy one goes once it is the only one that is not well.
      [one, ["0 new ready", "1 new ready", "2 new failing"], ["delete 2 scaledDown"]],
      [one, ["0 new ready", "1 new failing", "2 new failing"], []],
      [one, ["0 new ready", "1 new failing", "2 new ready"], ["delete 2 scaledDown"]],
      [one, ["0 new failing", "1 new ready"], []],
      [
        { ...one, ...parallel },
        ["0 new failing", "1 new failing", "2 new going", "3 new ready"],
        ["delete 3 scaledDown", "delete 1 scaledDown"],
      ],
      [{ replicas: 2, start: 1 }, ["0 new ready", "1 new ready", "2 new ready"], ["delete 0 scaledDown"]],
      [
        { ...one, ...enforced },
        ["0 new failing", "1 new failing", "2 new failing"],
        ["delete 2 scaledDown"],
        "3541-6",
      ],
      [{ ...one, ...enforced }, ["0 new coming", "1 new ready"], ["delete 1 scaledDown"], "3541-6"],
      [{ ...one, ...enforced }, ["0 new failing", "1 new going"], []],
      [{ ...one, ...permanentOnly }, ["0 new failing", "1 new failing"], ["delete 1 scaledDown"]],
      // Scaling comes before updates.
      [{ ...one, partition: 0 }, ["0 old ready", "1 old ready"], ["delete 1 scaledDown"]],
    ]),
  )("%s", (_, row) => check(row));
});

describe("RollingUpdate", () => {
  test.each(
    rows([
      [{}, ["0 old ready", "1 old ready", "2 old ready"], ["delete 2 updated"]],
      [{}, ["0 old ready", "1 old ready", "2 new ready"], ["delete 1 updated"]],
      [{}, ["0 old ready", "1 old ready", "2 new coming"], []],
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
      [parallel, ["0 old ready", "1 old ready", "2 old going"], []],
      [
        { ...parallel, partition: 2 },
        ["0 old failing", "1 old failing", "2 old failing"],
        ["delete 2 updated"],
      ],
    ]),
  )("%s", (_, row) => check(row));
});

describe("EnforcedRollingUpdate", () => {
  test.each(
    rows([
      [enforced, ["0 old ready", "1 old ready", "2 old ready"], ["delete 2 updated"]],
      // From the largest ordinal, whatever the others are.
      [enforced, ["0 old ready", "1 old ready", "2 old failing"], ["delete 2 updated"], "3541-3"],
      [enforced, ["0 old failing", "1 old failing", "2 old failing"], ["delete 2 updated"], "3541-3"],
      [enforced, ["0 old failing", "1 old failing", "2 new coming"], []],
      [enforced, ["0 old failing", "1 old failing", "2 new ready"], ["delete 1 updated"], "3541-3"],
      [enforced, ["0 old coming", "1 new ready", "2 new ready"], ["delete 0 updated"], "3541-3"],
      [enforced, ["0 old ready", "1 old ready", "2 new failing"], [], "3541-4"],
      [enforced, ["0 old failing", "1 old failing", "2 new permanent"], [], "3541-4"],
      [enforced, ["0 old ready", "1 old ready", "2 third failing"], ["delete 2 updated"], "3541-4"],
      [
        { ...enforced, ...parallel },
        ["0 old failing", "1 old failing", "2 old failing"],
        ["delete 2 updated"],
        "3541-5",
      ],
      [
        { ...enforced, ...parallel },
        ["0 old failing", "1 old failing", "2 new ready"],
        ["delete 1 updated"],
        "3541-5",
      ],
      [{ ...enforced, ...parallel }, ["0 old failing", "1 old failing", "2 new failing"], []],
      [
        { ...enforced, maxUnavailable: 2 },
        ["0 old failing", "1 old ready", "2 old ready"],
        ["delete 2 updated", "delete 1 updated"],
      ],
      [
        { ...enforced, maxUnavailable: 2 },
        ["0 old failing", "1 old failing", "2 new coming"],
        ["delete 1 updated"],
      ],
      [{ ...enforced, maxUnavailable: 2 }, ["0 old failing", "1 new coming", "2 new coming"], []],
      [
        { ...enforced, partition: 2 },
        ["0 old failing", "1 old failing", "2 old failing"],
        ["delete 2 updated"],
      ],
      [{ ...enforced, partition: 2 }, ["0 old failing", "1 old failing", "2 new ready"], []],
      // One that goes is waited for: it must be gone before it can come back.
      [enforced, ["0 old ready", "1 old going", "2 new ready"], []],
      [enforced, ["0 old going", "1 old ready", "2 old ready"], []],
      // New pods wait for those before them that are coming up, and for no others.
      [enforced, ["0 new coming"], []],
      [enforced, ["0 new failing"], ["create 1 new"]],
      [enforced, ["0 old coming"], ["create 1 new"]],
      [enforced, ["0 old failing", "1 new coming"], []],
    ]),
  )("%s", (_, row) => check(row));
});

describe("permanent-only", () => {
  test.each(
    rows([
      [permanentOnly, ["0 old ready", "1 old ready", "2 old ready"], ["delete 2 updated"]],
      [permanentOnly, ["0 old ready", "1 old ready", "2 old permanent"], ["delete 2 updated"]],
      [permanentOnly, ["0 old ready", "1 old ready", "2 old failing"], []],
      [permanentOnly, ["0 old ready", "1 old ready", "2 old coming"], []],
      // Never while bytes arrive or a startup budget remains, whatever is wrong beside it.
      [permanentOnly, ["0 old ready", "1 old ready", "2 old permanent+pulling"], []],
      [permanentOnly, ["0 old ready", "1 old ready", "2 old permanent+starting"], []],
      [permanentOnly, ["0 old ready", "1 old ready", "2 old permanent+started"], ["delete 2 updated"]],
      [permanentOnly, ["0 old ready", "1 old ready", "2 old permanent+initializing"], ["delete 2 updated"]],
      [permanentOnly, ["0 old permanent+pulling"], []],
      [{ ...permanentOnly, ...parallel }, ["0 old ready", "1 old ready", "2 old permanent+pulling"], []],
      [permanentOnly, ["0 old failing", "1 old ready", "2 old permanent"], []],
      [permanentOnly, ["0 old permanent", "1 old permanent", "2 new ready"], ["delete 1 updated"]],
      [permanentOnly, ["0 old permanent"], ["create 1 new"]],
      [permanentOnly, ["0 old failing"], []],
      [{ ...permanentOnly, ...parallel }, ["0 old ready", "1 old ready", "2 old failing"], []],
      [
        { ...permanentOnly, ...parallel },
        ["0 old ready", "1 old ready", "2 old permanent"],
        ["delete 2 updated"],
      ],
    ]),
  )("%s", (_, row) => check(row));
});

describe("claims", () => {
  const withClaims = { replicas: 1, claims: true };
  const deletion = { whenScaled: "Delete", whenDeleted: "Delete" };
  const owner = (kind: string, name: string, uid: string) => ({
    ownerReferences: [{ apiVersion: kind === "Pod" ? "v1" : "apps/v1", kind, name, uid, controller: true }],
  });
  test.each([
    ["are made before the pod", withClaims, [], [], ["claim data-web-0", "create 0 new"]],
    ["are taken as they are", withClaims, [], [makeClaim("data-web-0")], ["create 0 new"]],
    [
      "that are going are waited for",
      withClaims,
      [],
      [makeClaim("data-web-0", { deletionTimestamp: "x" })],
      ["fail pvc data-web-0 is being deleted", "create 0 new"],
    ],
    ["that a pending pod lacks are made", withClaims, ["0 new coming"], [], ["claim data-web-0"]],
    [
      "of a pod that is gone are not used again",
      { ...withClaims, retention: deletion },
      [],
      [makeClaim("data-web-0", owner("Pod", "web-0", "gone"))],
      [],
    ],
    [
      "get the owner of the policy",
      { ...withClaims, retention: deletion },
      ["0 new ready"],
      [makeClaim("data-web-0")],
      ["own data-web-0 StatefulSet"],
    ],
    [
      "lose it again",
      withClaims,
      ["0 new ready"],
      [makeClaim("data-web-0", owner("StatefulSet", "web", "set"))],
      ["own data-web-0 nobody"],
    ],
    [
      "go with a pod that is scaled away",
      { ...withClaims, replicas: 0, retention: deletion },
      ["0 new ready"],
      [makeClaim("data-web-0", owner("StatefulSet", "web", "set"))],
      ["own data-web-0 Pod", "delete 0 scaledDown"],
    ],
    [
      "of a stranger stay the stranger's",
      { ...withClaims, retention: deletion },
      ["0 new ready"],
      [makeClaim("data-web-0", owner("Backup", "b", "b"))],
      [],
    ],
  ] as const)("%s", (_, options, pods, claims, expected) => {
    expect(actionsOf(decide(options, pods, claims))).toEqual(expected);
  });
});

describe("the status", () => {
  test("counts", () => {
    const { status } = decide({ replicas: 4, minReadySeconds: 30 }, [
      "0 old ready",
      "1 old coming",
      "2 new justReady",
      "3 new going",
    ]);
    expect(status).toMatchObject({
      observedGeneration: 2,
      replicas: 4,
      readyReplicas: 3,
      availableReplicas: 2,
      currentReplicas: 2,
      updatedReplicas: 1,
      currentRevision: "old",
      updateRevision: "new",
    });
  });

  test("takes over the update revision when all pods run it", () => {
    const { status } = decide({}, ["0 new ready", "1 new ready", "2 new ready"]);
    expect(status).toMatchObject({ currentRevision: "new", currentReplicas: 3 });
  });

  test("asks for another look when a pod will be available", () => {
    expect(decide({ minReadySeconds: 30 }, ["0 new justReady"]).againAfterMs).toBe(25_000);
    expect(decide({ minReadySeconds: 3 }, ["0 new justReady"]).againAfterMs).toBeUndefined();
  });

  test("is all that is done for a set that is being deleted", () => {
    const facts = makeFacts(makeSet(), ["0 old ready"]);
    const set = { ...facts.set, metadata: { ...facts.set.metadata, deletionTimestamp: "x" } };
    expect(decideStatefulSet({ ...facts, set })).toMatchObject({ phases: [], status: { replicas: 1 } });
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
      ["0 new coming"],
      "True",
      "ContainerCreating",
      "waiting for pod web-0: container c: ContainerCreating",
    ],
    [{}, ["0 new ready", "1 new going"], "True", "PodTerminating", "waiting for pod web-1: is being deleted"],
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
      "pod web-1 holds up the set: container c: ImagePullBackOff",
    ],
    [
      {},
      ["0 old ready", "1 old ready", "2 old permanent"],
      "False",
      "InvalidImageName",
      "pod web-2 holds up the set: container c: InvalidImageName; it runs old instead of new, and RollingUpdate does not replace it: delete the pod, or use EnforcedRollingUpdate",
    ],
    // Nobody waits for a pod that is replaced anyway.
    [
      enforced,
      ["0 old failing", "1 old failing", "2 new coming"],
      "True",
      "ContainerCreating",
      "waiting for pod web-2: container c: ContainerCreating",
    ],
    [
      enforced,
      ["0 old failing", "1 old ready", "2 new failing"],
      "False",
      "ImagePullBackOff",
      "pod web-2 holds up the set: container c: ImagePullBackOff",
    ],
    [
      permanentOnly,
      ["0 old ready", "1 old ready", "2 old failing"],
      "False",
      "ImagePullBackOff",
      "pod web-2 holds up the set: container c: ImagePullBackOff",
    ],
    [
      permanentOnly,
      ["0 old ready", "1 old ready", "2 old permanent+pulling"],
      "False",
      "InvalidImageName",
      "pod web-2 holds up the set: container c: InvalidImageName",
    ],
    [
      { type: "OnDelete" },
      ["0 old ready", "1 old ready", "2 old failing"],
      "False",
      "ImagePullBackOff",
      "pod web-2 holds up the set: container c: ImagePullBackOff; it runs old instead of new, and OnDelete does not replace it: delete the pod, or use EnforcedRollingUpdate",
    ],
    [
      parallel,
      ["0 new ready", "1 new failing", "2 new coming"],
      "False",
      "ImagePullBackOff",
      "pod web-1 holds up the set: container c: ImagePullBackOff",
    ],
  ] as const)("says how it goes: %j %j", (options, pods, status, reason, message) => {
    expect(decide(options, pods).status.conditions).toEqual([
      {
        type: "Progressing",
        status,
        reason,
        message,
        lastTransitionTime: new Date(now).toISOString().replace(".000", ""),
      },
    ]);
  });
});
