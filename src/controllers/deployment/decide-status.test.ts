import { expect, test } from "vitest";
import type { Deployment, ReplicaSet } from "../../api/meta/objects.ts";
import { ago, deploymentOf, now, setOf } from "../shared/workload.fixture.ts";
import { deadlineCheckInMs, rolloutStatus } from "./decide-status.ts";

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
    what: "counts one more pod as progress and restarts the deadline",
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
    what: "keeps the condition without progress",
    status: before({ replicas: 3, updatedReplicas: 1, readyReplicas: 3, availableReplicas: 3 }),
    current: current(1),
    old: [setOf({ name: "old", replicas: 2 })],
    is: { status: "True", reason: "ReplicaSetUpdated", message: "before", lastUpdateTime: ago(10) },
  },
  {
    what: "reports that the deadline is exceeded",
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
    what: "keeps a complete rollout complete when a pod fails",
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

test("counts replicas and reports whether enough are available", () => {
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

test("has no Progressing condition without a deadline", () => {
  const deployment = deploymentOf({ progressDeadlineSeconds: 2 ** 31 - 1 }, { status: before({}) });
  const { conditions } = rolloutStatus({ deployment, current: current(3), old: [], now });
  expect(conditions?.map(({ type }) => type)).toEqual(["Available"]);
});

test("reports ReplicaFailure for as long as a ReplicaSet has it", () => {
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
  const recovered = rolloutStatus({ ...failing, deployment: deploymentOf({}, { status }), current: setOf() });
  expect(recovered.conditions?.some(({ type }) => type === "ReplicaFailure")).toBe(false);
});

test("requeues the Deployment when its deadline passes", () => {
  const status = before({ replicas: 3, updatedReplicas: 1 });
  expect(deadlineCheckInMs(deploymentOf(), status, now)).toBe(591_000);
  expect(deadlineCheckInMs(deploymentOf({ paused: true }), status, now)).toBeUndefined();
  expect(
    deadlineCheckInMs(deploymentOf(), before({}, progressing("ProgressDeadlineExceeded", 1)), now),
  ).toBeUndefined();
});
