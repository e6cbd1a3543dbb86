import { describe, expect, test } from "vitest";
import type { ContainerStatus, Pod, PodCondition } from "../api/meta/objects.ts";
import { type ConditionRecord, decideCondition } from "./decide-condition.ts";

const time = "2026-01-01T00:10:00Z";
const earlier = "2026-01-01T00:00:00Z";
const now = Date.parse(time);
const message = 'configmap "settings" not found';

const container = (
  state: ContainerStatus["state"],
  more: Partial<ContainerStatus> = {},
): ContainerStatus => ({
  name: "web",
  image: "web:1",
  imageID: "",
  ready: false,
  restartCount: 0,
  state,
  ...more,
});
const stuck = container({ waiting: { reason: "CreateContainerConfigError", message } });
const running = container({ running: { startedAt: time } }, { containerID: "test://a" });
const exited = container({ terminated: { exitCode: 0 } }, { containerID: "test://a" });
const lost = container({ terminated: { exitCode: 137 } });

/** Condition of this controller. */
const own: PodCondition = {
  type: "FailingToStart",
  status: "True",
  reason: "CreateContainerConfigError",
  message,
  lastTransitionTime: earlier,
  lastProbeTime: earlier,
};
const { lastProbeTime: _, ...kubelets } = own;
const ownFalse: PodCondition = {
  type: "FailingToStart",
  status: "False",
  lastTransitionTime: earlier,
  lastProbeTime: earlier,
};

interface PodFields {
  readonly statuses?: readonly ContainerStatus[];
  readonly condition?: PodCondition;
  readonly metadata?: Pod["metadata"];
  readonly phase?: string;
}

function pod({ statuses = [stuck], condition, metadata, phase = "Pending" }: PodFields = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "shop", uid: "uid-1", resourceVersion: "10", ...metadata },
    status: {
      phase,
      observedGeneration: 3,
      containerStatuses: [...statuses],
      ...(condition && { conditions: [condition] }),
    },
  };
}

const written = (condition: PodCondition = own, basedOn?: string): ConditionRecord => ({
  kind: "written",
  podUid: "uid-1",
  condition,
  stuck: [stuck],
  ...(basedOn && { basedOn }),
});
const decide = (given: PodFields, record?: ConditionRecord) =>
  decideCondition({ pod: pod(given), record, now });

describe("3815-10 writes", () => {
  test("True with reason and message of the container that is stuck", () => {
    const { write } = decide({});
    const condition = {
      ...own,
      lastTransitionTime: time,
      lastProbeTime: time,
      observedGeneration: 3,
    };
    expect(write).toEqual({
      condition,
      record: { kind: "written", podUid: "uid-1", basedOn: "10", condition, stuck: [stuck] },
    });
  });

  test("False once the container runs", () => {
    const { write } = decide({ statuses: [running], condition: own }, written());
    expect(write?.condition).toEqual({
      type: "FailingToStart",
      status: "False",
      lastTransitionTime: time,
      lastProbeTime: time,
      observedGeneration: 3,
    });
  });

  test("another reason without a new transition time", () => {
    const invalid = container({ waiting: { reason: "InvalidImageName", message: "bad" } });
    expect(decide({ statuses: [invalid], condition: own }, written()).write?.condition).toMatchObject({
      status: "True",
      reason: "InvalidImageName",
      message: "bad",
      lastTransitionTime: earlier,
    });
  });

  test("True again after False", () => {
    expect(decide({ condition: ownFalse }, written(ownFalse)).write?.condition).toMatchObject({
      status: "True",
      lastTransitionTime: time,
    });
  });

  test("to a pod that replaces one of the same name", () => {
    const metadata = { uid: "uid-2" };
    expect(decide({ metadata }, written()).write?.condition.status).toBe("True");
    expect(decide({ metadata }, { kind: "yielded", podUid: "uid-1" }).write?.condition.status).toBe("True");
  });

  test("False at the end of a pod whose container was created after all", () => {
    const ended = { statuses: [exited], phase: "Succeeded", condition: own };
    expect(decide(ended, written()).write?.condition.status).toBe("False");
  });
});

describe("3815-10 writes nothing", () => {
  const deleted = { deletionTimestamp: time };
  const crashing = container({ waiting: { reason: "CrashLoopBackOff", message: "back-off" } });
  test.each<[string, PodFields, ConditionRecord?]>([
    ["to a pod that starts", { statuses: [container({ waiting: { reason: "ContainerCreating" } })] }],
    ["to a pod that runs", { statuses: [running] }],
    ["to a pod that retries may start", { statuses: [crashing] }],
    ["before the kubelet has reported containers", { statuses: [] }],
    ["while nothing changes", { condition: own }, written()],
    ["while nothing changes, in a new process", { condition: own }],
    ["while nothing changes from False", { statuses: [running], condition: ownFalse }, written(ownFalse)],
    ["while the cache does not have the last write", {}, written(own, "10")],
    ["to a pod that is terminating", { metadata: deleted }],
    ["at the end of a pod", { statuses: [lost], phase: "Failed", condition: own }, written()],
    ["at the end of a pod, in a new process", { statuses: [lost], phase: "Failed", condition: own }],
    ["where the kubelet has written True", { statuses: [running], condition: kubelets }],
    ["where the kubelet has written False", { condition: { type: own.type, status: "False" } }],
    ["where the kubelet has overwritten the condition", { condition: kubelets }, written()],
  ])("%s", (_, given, record) => {
    expect(decide(given, record).write).toBeUndefined();
  });
});

describe("3815-10 leaves the pod to another writer for good", () => {
  const yielded: ConditionRecord = { kind: "yielded", podUid: "uid-1" };
  test.each<[string, PodCondition | undefined]>([
    ["that has replaced the condition", kubelets],
    ["that has removed the condition", undefined],
    ["that has changed the status and kept lastProbeTime", { ...own, status: "False" }],
    ["that has changed the reason and kept lastProbeTime", { ...own, reason: "Other" }],
    ["that has changed the message and kept lastProbeTime", { ...own, message: "other" }],
    ["that has changed the time of the transition", { ...own, lastTransitionTime: time }],
  ])("%s", (_, condition) => {
    expect(decide({ condition, metadata: { resourceVersion: "12" } }, written(own, "10"))).toEqual({
      record: yielded,
    });
  });

  test("and does not come back", () => {
    expect(decide({}, yielded)).toEqual({ record: yielded });
    expect(decide({ condition: own, statuses: [running] }, yielded)).toEqual({ record: yielded });
  });
});

test("3815-10 a new process adopts the condition of its predecessor", () => {
  expect(decide({ condition: own })).toEqual({ record: written() });
  expect(decide({ condition: own, statuses: [running] }).write?.condition.status).toBe("False");
});
