import { expect, test } from "vitest";
import type { Pod } from "../../api/objects.ts";
import { before, makePod, makeSet, now } from "./stateful-set.fixture.ts";
import { whyUnavailable } from "./why-unavailable.ts";

type Status = NonNullable<Pod["status"]>;
type Container = NonNullable<Status["containerStatuses"]>[number];

function podWith(status: Status, spec: Partial<Pod["spec"]> = {}): Pod {
  const pod = makePod(makeSet(), "0 new coming");
  return {
    ...pod,
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
    "no node has room",
    podWith(condition("PodScheduled", "Unschedulable", "0/1 nodes are available"), { nodeName: undefined }),
    { kind: "failing", reason: "Unschedulable", message: "0/1 nodes are available" },
  ],
  ["no node yet", podWith({}, { nodeName: undefined }), { kind: "coming", reason: "PodUnscheduled" }],
  [
    "failing to start",
    podWith(condition("FailingToStart", "InvalidImageName", "bad", "True")),
    { kind: "permanent", reason: "InvalidImageName", message: "bad" },
  ],
  [
    "a volume is missing",
    podWith(condition("PodReadyToStartContainers", "FailedMount", "no secret")),
    { kind: "failing", reason: "FailedMount" },
  ],
  [
    "the sandbox is made",
    podWith(condition("PodReadyToStartContainers", "PodSandboxNotReady", "no pod sandbox exists")),
    { kind: "coming", reason: "PodStarting" },
  ],
  [
    "pull backs off",
    podWith(waiting("ImagePullBackOff", "later")),
    { kind: "failing", message: "container c: ImagePullBackOff: later" },
  ],
  [
    "gate off, name is wrong",
    podWith(waiting("InvalidImageName")),
    { kind: "permanent", reason: "InvalidImageName" },
  ],
  ["config is missing", podWith(waiting("CreateContainerConfigError")), { kind: "permanent" }],
  ["crashes", podWith(waiting("CrashLoopBackOff")), { kind: "failing", reason: "CrashLoopBackOff" }],
  [
    "pulls",
    podWith(waiting("ContainerCreating", "Pulling image: 1Gi of 4Gi")),
    { kind: "coming", message: "container c: ContainerCreating: Pulling image: 1Gi of 4Gi" },
  ],
  [
    "an init container fails",
    podWith({
      initContainerStatuses: [container({ waiting: { reason: "CrashLoopBackOff" } }, { name: "init" })],
      ...waiting("PodInitializing"),
    }),
    { kind: "failing", message: "container init: CrashLoopBackOff" },
  ],
  [
    "a startup probe has not passed",
    podWith({ containerStatuses: [container({ running: {} }, { started: false })] }),
    { kind: "coming", reason: "StartupProbePending" },
  ],
  [
    "it was restarted and is not ready",
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
      message: "container c ended with 137 (OOMKilled) and was restarted 2 times",
    },
  ],
  [
    "an init container that is done does not count",
    podWith({
      initContainerStatuses: [container({ terminated: { exitCode: 0 } }, { name: "init" })],
      containerStatuses: [container({ running: {} })],
      ...condition("Ready", "ContainersNotReady", "containers with unready status: [c]"),
    }),
    { kind: "coming", reason: "ContainersNotReady" },
  ],
  [
    "it has ended",
    podWith({ phase: "Failed", reason: "Evicted", message: "disk is full" }),
    { kind: "failing", reason: "Evicted" },
  ],
  [
    "it has not been ready for long",
    podWith({
      phase: "Running",
      conditions: [{ type: "Ready", status: "True", lastTransitionTime: before }],
    }),
    { kind: "coming", reason: "MinReadySeconds" },
  ],
])("%s", (_, pod, expected) => {
  expect(whyUnavailable(pod, 3_600, now)).toMatchObject(expected);
});
