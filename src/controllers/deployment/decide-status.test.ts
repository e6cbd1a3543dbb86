import { expect, test } from "vitest";
import type { Deployment, ReplicaSet } from "../../api/objects.ts";
import { ago, deploymentOf, now, setOf } from "../workload.fixture.ts";
import { lookAgainInMs, rolloutStatus } from "./decide-status.ts";

type Status = NonNullable<Deployment["status"]>;
const progressing = (reason: string, seconds: number, status = "True") => ({
  type: "Progressing",
  status,
  reason,
  message: "before",
  lastUpdateTime: ago(seconds),
  lastTransitionTime: ago(900),
});
const before = (status: Partial<Status>, condition = progressing("ReplicaSetUpdated", 10)): Status => ({
  observedGeneration: 1,
  ...status,
  conditions: [condition],
});
const current = (replicas: number, available = replicas) =>
  setOf({ name: "new", image: "web:2", replicas, available });

interface Row {
  what: string;
  status: Status;
  current?: ReplicaSet;
  old?: ReplicaSet[];
  is: { status: string; reason: string; message: string; lastUpdateTime?: string };
}

const time = ago(0);
const rows: Row[] = [
  {
    what: "complete",
    status: before({ replicas: 3, updatedReplicas: 3, availableReplicas: 2 }),
    current: current(3),
    is: {
      status: "True",
      reason: "NewReplicaSetAvailable",
      message: 'ReplicaSet "new" has successfully progressed.',
    },
  },
  {
    what: "one more pod is progress, and counts from now",
    status: before({ replicas: 3, updatedReplicas: 1, availableReplicas: 3 }),
    current: current(2),
    old: [setOf({ name: "old", replicas: 2 })],
    is: {
      status: "True",
      reason: "ReplicaSetUpdated",
      message: 'ReplicaSet "new" is progressing.',
      lastUpdateTime: time,
    },
  },
  {
    what: "without progress it stays as it was",
    status: before({ replicas: 3, updatedReplicas: 1, readyReplicas: 3, availableReplicas: 3 }),
    current: current(1),
    old: [setOf({ name: "old", replicas: 2 })],
    is: { status: "True", reason: "ReplicaSetUpdated", message: "before", lastUpdateTime: ago(10) },
  },
  {
    what: "for too long",
    status: before(
      { replicas: 4, updatedReplicas: 1, readyReplicas: 3, availableReplicas: 3 },
      progressing("ReplicaSetUpdated", 601),
    ),
    current: { ...current(1, 0) },
    old: [setOf({ name: "old", replicas: 3 })],
    is: {
      status: "False",
      reason: "ProgressDeadlineExceeded",
      message: 'ReplicaSet "new" has timed out progressing.',
    },
  },
  {
    what: "once complete, a pod that fails is no rollout",
    status: before(
      { replicas: 3, updatedReplicas: 3, availableReplicas: 3 },
      progressing("NewReplicaSetAvailable", 9_000),
    ),
    current: current(3, 1),
    is: { status: "True", reason: "NewReplicaSetAvailable", message: "before" },
  },
];

test.each(rows)("$what", ({ status, is, current, old = [] }) => {
  const deployment = deploymentOf({}, { status });
  const next = rolloutStatus({ deployment, ...(current && { current }), old, now });
  expect(next.conditions?.find(({ type }) => type === "Progressing")).toMatchObject(is);
});

test("counts, and whether enough is available", () => {
  const old = [setOf({ name: "old", replicas: 2, available: 1 })];
  const next = rolloutStatus({ deployment: deploymentOf(), current: current(2, 1), old, now });
  expect(next).toMatchObject({
    observedGeneration: 1,
    replicas: 4,
    updatedReplicas: 2,
    readyReplicas: 2,
    availableReplicas: 2,
    unavailableReplicas: 2,
    terminatingReplicas: 0,
  });
  expect(next.conditions).toContainEqual(
    expect.objectContaining({ type: "Available", status: "False", reason: "MinimumReplicasUnavailable" }),
  );
});

test("without a deadline there is no such condition", () => {
  const deployment = deploymentOf({ progressDeadlineSeconds: 2 ** 31 - 1 }, { status: before({}) });
  const { conditions } = rolloutStatus({ deployment, current: current(3), old: [], now });
  expect(conditions?.map(({ type }) => type)).toEqual(["Available"]);
});

test("says what keeps its sets from having pods, for as long as it does", () => {
  const failure = {
    type: "ReplicaFailure",
    status: "True",
    reason: "FailedCreate",
    message: "no",
    lastTransitionTime: ago(5),
  };
  const failing = { deployment: deploymentOf(), current: setOf({ conditions: [failure] }), old: [], now };
  const status = rolloutStatus(failing);
  expect(status.conditions).toContainEqual({ ...failure, lastUpdateTime: ago(5) });
  const healed = rolloutStatus({ ...failing, deployment: deploymentOf({}, { status }), current: setOf() });
  expect(healed.conditions?.some(({ type }) => type === "ReplicaFailure")).toBe(false);
});

test("looks again when its time is over", () => {
  const status = before({ replicas: 3, updatedReplicas: 1 });
  expect(lookAgainInMs(deploymentOf(), status, now)).toBe(591_000);
  expect(lookAgainInMs(deploymentOf({ paused: true }), status, now)).toBeUndefined();
  expect(
    lookAgainInMs(deploymentOf(), before({}, progressing("ProgressDeadlineExceeded", 1)), now),
  ).toBeUndefined();
});
