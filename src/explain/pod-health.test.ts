import { expect, test } from "vitest";
import type { Pod } from "../api/meta/objects.ts";
import { podHealth } from "./pod-health.ts";

const now = Date.parse("2026-01-01T00:10:00Z");
const before = "2026-01-01T00:00:00Z";

type Status = NonNullable<Pod["status"]>;
type Container = NonNullable<Status["containerStatuses"]>[number];

function podWith(status: Status, spec: Partial<Pod["spec"]> = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web-0", namespace: "default", creationTimestamp: before },
    spec: { containers: [], nodeName: "node", ...spec },
    status: { phase: "Pending", ...status },
  };
}

const container = (state: Container["state"], more: Partial<Container> = {}): Container => ({
  name: "c",
  image: "",
  imageID: "",
  ready: false,
  restartCount: 0,
  state,
  ...more,
});
const condition = (type: string, reason: string, message: string, status = "False") => ({
  conditions: [{ type, status, reason, message }],
});
const waiting = (reason: string, message?: string) => ({
  containerStatuses: [container({ waiting: { reason, message } })],
});

test.each<[string, Pod, object]>([
  [
    "unschedulable",
    podWith(condition("PodScheduled", "Unschedulable", "0/1 nodes are available"), { nodeName: undefined }),
    { kind: "failing", reason: "Unschedulable", message: "0/1 nodes are available" },
  ],
  [
    "not scheduled yet",
    podWith({}, { nodeName: undefined }),
    { kind: "progressing", reason: "PodUnscheduled" },
  ],
  [
    "FailingToStart is True",
    podWith(condition("FailingToStart", "InvalidImageName", "bad", "True")),
    { kind: "permanent", reason: "InvalidImageName", message: "bad" },
  ],
  [
    "FailingToStart is True although its container runs: a stale value of a kubelet whose gate was turned off",
    podWith({
      ...condition("FailingToStart", "InvalidImageName", "bad", "True"),
      containerStatuses: [container({ running: {} }, { started: true })],
    }),
    { kind: "progressing" },
  ],
  [
    "a missing volume",
    podWith(condition("PodReadyToStartContainers", "FailedMount", "no secret")),
    { kind: "failing", reason: "FailedMount" },
  ],
  [
    "the sandbox does not exist yet",
    podWith(condition("PodReadyToStartContainers", "PodSandboxNotReady", "no pod sandbox exists")),
    { kind: "progressing", reason: "PodStarting" },
  ],
  [
    "a pull is in back-off",
    podWith(waiting("ImagePullBackOff", "later")),
    { kind: "failing", message: "container c: ImagePullBackOff: later" },
  ],
  [
    "an invalid image name without FailingToStart",
    podWith(waiting("InvalidImageName")),
    { kind: "permanent", reason: "InvalidImageName" },
  ],
  ["a missing config map", podWith(waiting("CreateContainerConfigError")), { kind: "permanent" }],
  ["a crash loop", podWith(waiting("CrashLoopBackOff")), { kind: "failing", reason: "CrashLoopBackOff" }],
  [
    "an image pull",
    podWith(waiting("ContainerCreating", "Pulling image: 1Gi of 4Gi")),
    { kind: "progressing", message: "container c: ContainerCreating: Pulling image: 1Gi of 4Gi" },
  ],
  [
    "a failing init container",
    podWith({
      initContainerStatuses: [container({ waiting: { reason: "CrashLoopBackOff" } }, { name: "init" })],
      ...waiting("PodInitializing"),
    }),
    { kind: "failing", message: "container init: CrashLoopBackOff" },
  ],
  [
    "a startup probe that has not passed",
    podWith({ containerStatuses: [container({ running: {} }, { started: false })] }),
    { kind: "progressing", reason: "StartupProbePending" },
  ],
  [
    "a restarted container that is not ready",
    podWith({
      containerStatuses: [
        container(
          { running: {} },
          { restartCount: 2, lastState: { terminated: { exitCode: 137, reason: "OOMKilled" } } },
        ),
      ],
    }),
    {
      kind: "failing",
      reason: "OOMKilled",
      message:
        "container c ended with 137 (OOMKilled) and was restarted 2 times. The container used more memory than the node has",
    },
  ],
  [
    "a crash loop whose last exit names a missing binary",
    podWith({
      containerStatuses: [
        container(
          { waiting: { reason: "CrashLoopBackOff", message: "back-off 10s" } },
          {
            lastState: {
              terminated: {
                exitCode: 128,
                reason: "StartError",
                message: 'exec: "x": executable file not found',
              },
            },
          },
        ),
      ],
    }),
    {
      kind: "permanent",
      reason: "CrashLoopBackOff",
      message: "container c: CrashLoopBackOff: back-off 10s. The image does not contain the program x",
    },
  ],
  [
    "an image that the registry has not had for five minutes",
    podWith(waiting("ErrImagePull", "manifest unknown")),
    { kind: "permanent", reason: "ErrImagePull" },
  ],
  [
    "a RuntimeClass handler that the runtime does not have",
    podWith(
      condition("PodReadyToStartContainers", "FailedCreatePodSandBox", 'no runtime for "kata" is configured'),
    ),
    { kind: "permanent", reason: "FailedCreatePodSandBox" },
  ],
  [
    "a completed init container is ignored",
    podWith({
      initContainerStatuses: [container({ terminated: { exitCode: 0 } }, { name: "init" })],
      containerStatuses: [container({ running: {} })],
      ...condition("Ready", "ContainersNotReady", "containers with unready status: [c]"),
    }),
    { kind: "progressing", reason: "ContainersNotReady" },
  ],
  [
    "a terminated pod",
    podWith({ phase: "Failed", reason: "Evicted", message: "disk is full" }),
    { kind: "failing", reason: "Evicted" },
  ],
  [
    "ready for less than minReadySeconds",
    podWith({
      phase: "Running",
      conditions: [{ type: "Ready", status: "True", lastTransitionTime: before }],
    }),
    { kind: "progressing", reason: "MinReadySeconds" },
  ],
])("%s", (_, pod, expected) => {
  expect(podHealth(pod, { minReadySeconds: 3_600, now })).toMatchObject(expected);
});

test.each([
  ["", "progressing"],
  ["ContainerCreating", "progressing"],
  ["PodInitializing", "progressing"],
  ["RestartingAllContainers", "progressing"],
  ["ErrImagePull", "failing"],
  ["CrashLoopBackOff", "failing"],
  ["SomethingNew", "failing"],
  ["InvalidImageName", "permanent"],
] as const)("a container that waits for %j is %s", (reason, expected) => {
  expect(podHealth(podWith(waiting(reason)), { now }).kind).toBe(expected);
});
