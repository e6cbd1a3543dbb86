import { expect, test } from "vitest";
import {
  conditionStatuses,
  generate,
  observe,
  observedContainer,
  running,
  scheduledAt,
  time,
} from "./status.fixture.ts";

test("the first look at a pod", () => {
  const condition = { lastTransitionTime: time, observedGeneration: 1 };
  const unready = {
    ...condition,
    status: "False",
    reason: "ContainersNotReady",
    message: "containers with unready status: [web]",
  };
  expect(generate({})).toEqual({
    phase: "Pending",
    observedGeneration: 1,
    startTime: time,
    qosClass: "BestEffort",
    hostIP: "192.168.0.7",
    hostIPs: [{ ip: "192.168.0.7" }],
    conditions: [
      {
        type: "PodReadyToStartContainers",
        status: "False",
        reason: "PodSandboxNotReady",
        message: "no pod sandbox exists",
        ...condition,
      },
      { type: "Initialized", status: "True", ...condition },
      { type: "Ready", ...unready },
      { type: "ContainersReady", ...unready },
      { type: "PodScheduled", status: "True", ...condition, lastTransitionTime: scheduledAt },
      { type: "FailingToStart", status: "False", ...condition },
    ],
    containerStatuses: [expect.objectContaining({ name: "web" })],
  });
});

test("a pod that runs", () => {
  const status = generate({ observed: observe([observedContainer("web", running)]) });
  expect(status).toMatchObject({ phase: "Running", podIP: "10.0.0.5", podIPs: [{ ip: "10.0.0.5" }] });
  expect(conditionStatuses(status)).toEqual({
    PodReadyToStartContainers: "True",
    Initialized: "True",
    Ready: "True",
    ContainersReady: "True",
    PodScheduled: "True",
    FailingToStart: "False",
  });
});
