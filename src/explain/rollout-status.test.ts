import { describe, expect, test } from "vitest";
import type { Deployment, Pod, StatefulSet } from "../api/meta/objects.ts";
import { deploymentRollout, describeRolloutPod, statefulSetRollout } from "./rollout-status.ts";

const now = Date.parse("2026-01-01T01:00:00Z");
const metadata = { name: "web", namespace: "default", generation: 2 };
type SetStatus = NonNullable<StatefulSet["status"]>;
type Condition = NonNullable<SetStatus["conditions"]>[number];

const complete = (status: string, reason: string, message: string): Condition[] => [
  { type: "RolloutComplete", status, reason, message },
];

const makeSet = (
  status: Partial<SetStatus>,
  { partition, annotations }: { partition?: number; annotations?: Record<string, string> } = {},
): StatefulSet => ({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { ...metadata, annotations },
  spec: {
    replicas: 3,
    serviceName: "web",
    selector: {},
    template: {},
    updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition } },
  },
  status: { observedGeneration: 2, replicas: 3, updateRevision: "new", ...status },
});

const makePod = (ordinal: number, revision: string, waiting?: string): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: `web-${ordinal}`,
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels: { "controller-revision-hash": revision },
  },
  spec: { nodeName: "node", containers: [{ name: "c", image: "web" }] },
  status: {
    phase: "Running",
    conditions: [{ type: "Ready", status: waiting ? "False" : "True" }],
    containerStatuses: waiting
      ? [
          {
            name: "c",
            image: "",
            imageID: "",
            ready: false,
            restartCount: 0,
            state: { waiting: { reason: waiting } },
          },
        ]
      : [],
  },
});

const rollout = (set: StatefulSet, pods: readonly Pod[] = [], unchangedMs = 0) =>
  statefulSetRollout(set, { pods, unchangedSince: now - unchangedMs, now });

describe("3541-12 the rollout of a StatefulSet with Kindling's conditions", () => {
  const counts = { updatedReplicas: 2, availableReplicas: 1 };
  test.each([
    [
      "is complete when the condition is True",
      { conditions: complete("True", "RolloutComplete", "3 pods run new") },
      "complete",
      'statefulset "web" successfully rolled out: 3 pods run new',
    ],
    [
      "is not complete before the controller has observed the change",
      { observedGeneration: 1, conditions: complete("True", "RolloutComplete", "3 pods run old") },
      "progressing",
      "Waiting for the controller to observe the latest change",
    ],
    [
      "continues while a pod fails",
      { conditions: complete("False", "ImagePullBackOff", "pod web-2 blocks the rollout") },
      "progressing",
      "2 of 3 pods updated, 1 available: pod web-2 blocks the rollout",
    ],
    [
      "has failed after the deadline",
      { conditions: complete("False", "ProgressDeadlineExceeded", "no progress; pod web-2") },
      "failed",
      "no progress; pod web-2",
    ],
    [
      "has failed if the strategy is not supported",
      { conditions: complete("False", "UnknownStrategy", "feature gate is disabled") },
      "failed",
      "feature gate is disabled",
    ],
  ])("%s", (_, status, kind, message) => {
    expect(rollout(makeSet({ ...counts, ...status }))).toEqual({ kind, message });
  });
});

describe("the rollout of a StatefulSet of another controller", () => {
  const ready = [makePod(0, "new"), makePod(1, "new"), makePod(2, "new")];
  const stuck = [makePod(0, "old"), makePod(1, "old"), makePod(2, "new", "ErrImagePull")];

  test.each([
    [{ updatedReplicas: 3, availableReplicas: 3 }, undefined, "3 pods run new"],
    [{ updatedReplicas: 3, readyReplicas: 3 }, undefined, "3 pods run new"],
    [{ updatedReplicas: 1, availableReplicas: 3 }, 2, "1 pods run new, 2 below the partition"],
    [{ currentRevision: "new", currentReplicas: 3, availableReplicas: 3 }, undefined, "3 pods run new"],
  ])("is complete with %j and partition %j", (status, partition, message) => {
    expect(rollout(makeSet(status, { partition }), ready)).toEqual({
      kind: "complete",
      message: `statefulset "web" successfully rolled out: ${message}`,
    });
  });

  test("names the pod that it waits for, and fails when nothing changes within the deadline", () => {
    const set = makeSet({ updatedReplicas: 1, availableReplicas: 2, currentRevision: "old" });
    const wait = "waiting for pod web-2: container c: ErrImagePull";
    expect(rollout(set, stuck, 599_999)).toEqual({
      kind: "progressing",
      message: `1 of 3 pods updated, 2 available: ${wait}`,
    });
    expect(rollout(set, stuck, 600_000)).toEqual({
      kind: "failed",
      message: `StatefulSet "web" has timed out progressing: no progress for 600 s; 1 of 3 pods updated, 2 available, ${wait}`,
    });
  });

  test("waits longer for a pod that is still starting, and as long as the annotation says", () => {
    const recent = makePod(2, "new", "ContainerCreating");
    recent.metadata.creationTimestamp = "2026-01-01T00:59:00Z";
    const set = makeSet({ updatedReplicas: 1, availableReplicas: 2 });
    expect(rollout(set, [recent], 700_000).kind).toBe("progressing");
    const annotations = { "kindling.dev/progress-deadline-seconds": "30" };
    const hasty = makeSet({ updatedReplicas: 1, availableReplicas: 2 }, { annotations });
    expect(rollout(hasty, [recent], 29_999).kind).toBe("progressing");
    expect(rollout(hasty, [recent], 30_000).kind).toBe("failed");
  });
});

describe("the rollout of a Deployment", () => {
  const makeDeployment = (status: Deployment["status"]): Deployment => ({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata,
    spec: { replicas: 3, selector: {}, template: {} },
    status: { observedGeneration: 2, ...status },
  });
  const waiting = 'Waiting for deployment "web" rollout to finish: ';
  test.each([
    [{ observedGeneration: 1 }, "progressing", "Waiting for the controller to observe the latest change"],
    [{ updatedReplicas: 1 }, "progressing", `${waiting}1 out of 3 new replicas have been updated`],
    [{ updatedReplicas: 3, replicas: 4 }, "progressing", `${waiting}1 old replicas are pending termination`],
    [
      { updatedReplicas: 3, replicas: 3, availableReplicas: 2 },
      "progressing",
      `${waiting}2 of 3 updated replicas are available`,
    ],
    [
      { updatedReplicas: 3, replicas: 3, availableReplicas: 3 },
      "complete",
      'deployment "web" successfully rolled out',
    ],
    [
      {
        conditions: [
          {
            type: "Progressing",
            status: "False",
            reason: "ProgressDeadlineExceeded",
            message: "web-1 timed out",
          },
        ],
      },
      "failed",
      'deployment "web" exceeded its progress deadline: web-1 timed out',
    ],
  ])("with %j is %s", (status, kind, message) => {
    expect(deploymentRollout(makeDeployment(status))).toEqual({ kind, message });
  });
});

test("describes pods by revision and by what they wait for", () => {
  const set = makeSet({});
  const describePod = (pod: Pod) => describeRolloutPod(pod, { set, now });
  expect(describePod(makePod(1, "old", "ErrImagePull"))).toEqual({
    name: "web-1",
    revision: "old",
    state: "container c: ErrImagePull",
  });
  expect(describePod(makePod(0, "new"))).toEqual({ name: "web-0", revision: "new", state: "available" });
});
