import { describe, expect, test } from "vitest";
import type { Pod } from "../api/meta/objects.ts";
import { startState } from "./start-state.ts";

const created = Date.parse("2026-01-01T00:00:00Z");
const seconds = (count: number) => created + count * 1_000;
const at = (count: number) => new Date(seconds(count)).toISOString();

const pod: Pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web-0", namespace: "default", creationTimestamp: at(0) },
};

type Status = NonNullable<Pod["status"]>;
type ContainerStatus = NonNullable<Status["containerStatuses"]>[number];

const common = { name: "c", image: "", imageID: "", ready: false, restartCount: 0 };
const running = (startedAt: number, more: Partial<ContainerStatus> = {}): ContainerStatus => ({
  ...common,
  state: { running: { startedAt: at(startedAt) } },
  ...more,
});
const creating: ContainerStatus = { ...common, state: { waiting: { reason: "ContainerCreating" } } };
const startupProbe = { initialDelaySeconds: 10, periodSeconds: 100, failureThreshold: 20, timeoutSeconds: 1 };

function stateOf(
  container: ContainerStatus,
  now: number,
  { conditions = [], probe }: { conditions?: Status["conditions"]; probe?: object } = {},
) {
  const spec = { nodeName: "node", containers: [{ name: "c", image: "web:1", startupProbe: probe }] };
  const status = { phase: "Running", conditions, containerStatuses: [container] };
  return startState(
    { ...pod, spec, status },
    { minReadySeconds: 30, progressDeadlineMs: 600_000, now: seconds(now) },
  );
}

const ready = (since: number) => [{ type: "Ready", status: "True", lastTransitionTime: at(since) }];
const unready = [
  { type: "Ready", status: "False", reason: "ContainersNotReady", lastTransitionTime: at(599) },
];
const scheduled = (since: number) => [
  { type: "PodScheduled", status: "True", lastTransitionTime: at(since) },
];
const unscheduled = [{ type: "PodScheduled", status: "False", reason: "Unschedulable" }];
const noSandbox = [{ type: "PodReadyToStartContainers", status: "False", reason: "FailedCreatePodSandBox" }];
const starting = (until: number) => ({ kind: "starting", untilMs: seconds(until) });

describe("3541-11 a pod that is created", () => {
  test.each([
    ["is starting until its progress deadline", creating, 0, {}, starting(600)],
    ["is starting until its progress deadline", creating, 599, {}, starting(600)],
    ["is overdue after it", creating, 600, {}, { kind: "overdue" }],
    [
      "has a new deadline when it is scheduled",
      creating,
      700,
      { conditions: scheduled(650) },
      starting(1_250),
    ],
    ["has a new deadline when its container runs", running(400), 700, {}, starting(1_000)],
    [
      "gets no new deadline by a restart of its container",
      running(400, { restartCount: 1 }),
      600,
      {},
      { kind: "overdue" },
    ],
    [
      "gets no new deadline by becoming unready",
      running(0),
      600,
      { conditions: unready },
      { kind: "overdue" },
    ],
    [
      "is starting while its startup probe has attempts left",
      running(0, { started: false }),
      2_000,
      { probe: startupProbe },
      starting(2_011),
    ],
    [
      "is overdue after the startup probe",
      running(0, { started: false }),
      2_011,
      { probe: startupProbe },
      { kind: "overdue" },
    ],
    [
      "has no startup budget once it has started",
      running(0, { started: true }),
      700,
      { probe: startupProbe },
      { kind: "overdue" },
    ],
    [
      "is starting while it is Ready and not yet available",
      running(0),
      40,
      { conditions: ready(20) },
      starting(50),
    ],
    ["is available after minReadySeconds", running(0), 50, { conditions: ready(20) }, { kind: "available" }],
    ["is broken when it cannot be scheduled", creating, 0, { conditions: unscheduled }, { kind: "broken" }],
    ["is broken when its sandbox fails", creating, 0, { conditions: noSandbox }, { kind: "broken" }],
    [
      "is broken when a container waits because of a failure",
      { ...common, state: { waiting: { reason: "ErrImagePull" } } },
      0,
      {},
      { kind: "broken" },
    ],
    [
      "is broken when a container failed and runs again",
      running(0, { lastState: { terminated: { exitCode: 1, containerID: "" } } }),
      1,
      {},
      { kind: "broken" },
    ],
  ] as const)("%s", (_, container, now, options, expected) => {
    expect(stateOf(container, now, options as Parameters<typeof stateOf>[2])).toEqual(expected);
  });
});

const options = { minReadySeconds: 0, progressDeadlineMs: 600_000, now: created };
const ended = { ...common, state: { terminated: { exitCode: 137, containerID: "", reason: "Error" } } };

test.each([
  ["is terminating after it was deleted", { phase: "Running" }, { deletionTimestamp: at(1) }, "terminating"],
  ["is broken if the kubelet rejected it", { phase: "Failed" }, {}, "broken"],
  [
    "is terminating if it ran and was evicted",
    { phase: "Failed", containerStatuses: [ended] },
    {},
    "terminating",
  ],
  ["is terminating if it has succeeded", { phase: "Succeeded" }, {}, "terminating"],
] as const)("3541-11 a pod %s", (_, status, metadata, kind) => {
  const changed = { ...pod, metadata: { ...pod.metadata, ...metadata }, status: status as Status };
  expect(startState(changed, options)).toEqual({ kind });
});

test("3541-11 a pod that is still to be created is starting", () => {
  expect(startState(pod, options)).toEqual({ kind: "starting" });
});
