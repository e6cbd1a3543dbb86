import { expect, test } from "vitest";
import {
  type Case,
  exited,
  expectPlan,
  now,
  observedContainer,
  planFor,
  running,
  sandbox,
} from "./decide-pod-actions.fixture.ts";

test.each<Case>([
  {
    name: "all runs",
    sandboxes: [sandbox],
    containers: [observedContainer("a", running)],
    expected: "wait",
  },
  {
    name: "first crash: at once",
    sandboxes: [sandbox],
    containers: [observedContainer("a", exited(1))],
    expected: "start main a 1 next 10000",
  },
  {
    name: "second crash: waits",
    sandboxes: [sandbox],
    containers: [observedContainer("a", exited(1), { attempt: 1, restartDelayMs: 10_000 })],
    expected: "wait",
    waiting: ["a"],
    again: now + 7_000,
  },
  {
    name: "back-off is over",
    sandboxes: [sandbox],
    containers: [observedContainer("a", exited(1), { attempt: 1, restartDelayMs: 2_000 })],
    expected: "start main a 2 next 4000",
  },
  {
    name: "ran long enough to start afresh",
    sandboxes: [sandbox],
    containers: [observedContainer("a", exited(1, 601_000), { attempt: 7, restartDelayMs: 300_000 })],
    expected: "start main a 8 next 10000",
  },
  {
    name: "one waits, the other is started",
    main: ["a", "b"],
    sandboxes: [sandbox],
    containers: [observedContainer("a", exited(1), { attempt: 1, restartDelayMs: 10_000 })],
    expected: "start main b 0 next 0",
    waiting: ["a"],
    again: now + 7_000,
  },
  {
    name: "made, never started, by a kubelet that was killed",
    sandboxes: [sandbox],
    containers: [observedContainer("a", { kind: "created" }, { attempt: 2, restartDelayMs: 20_000 })],
    expected: "start main a 2 again next 20000",
  },
  {
    name: "unknown state",
    sandboxes: [sandbox],
    containers: [observedContainer("a", { kind: "unknown" })],
    expected: "kill a-0",
  },
  {
    name: "image changed",
    sandboxes: [sandbox],
    containers: [observedContainer("a", running, { specHash: "other" })],
    expected: "kill a-0",
  },
  {
    name: "a probe wants it killed",
    sandboxes: [sandbox],
    containers: [observedContainer("a", running)],
    probeResults: { "a-0": { kill: { probe: "liveness", message: "m" } } },
    expected: "kill a-0",
  },
  {
    name: "failed, OnFailure",
    restartPolicy: "OnFailure",
    sandboxes: [sandbox],
    containers: [observedContainer("a", exited(3))],
    expected: "start main a 1 next 10000",
  },
  {
    name: "one succeeded, one runs, OnFailure",
    main: ["a", "b"],
    restartPolicy: "OnFailure",
    sandboxes: [sandbox],
    containers: [observedContainer("a", exited(0)), observedContainer("b", running)],
    expected: "wait",
  },
  {
    name: "all ended, Never",
    main: ["a", "b"],
    restartPolicy: "Never",
    sandboxes: [sandbox],
    containers: [observedContainer("a", exited(0)), observedContainer("b", exited(1))],
    expected: "done",
  },
  {
    name: "restart counts go on where the API has them",
    status: {
      containerStatuses: [
        { name: "a", restartCount: 4, containerID: "r://x", image: "i", imageID: "", ready: false },
      ],
    },
    sandboxes: [sandbox],
    expected: "start main a 5 next 0",
  },
])("$name", expectPlan);

test("a crash loop has upstream's message", () => {
  const { crashLoops } = planFor({
    sandboxes: [sandbox],
    containers: [observedContainer("a", exited(1), { attempt: 4, restartDelayMs: 80_000 })],
  });
  expect(crashLoops.get("a")).toEqual({
    reason: "CrashLoopBackOff",
    message: "back-off 1m20s restarting failed container=a pod=p_n(u)",
  });
});
