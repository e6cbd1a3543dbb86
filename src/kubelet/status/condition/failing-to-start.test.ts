import { expect, test } from "vitest";
import { waitingReasons } from "../../../api/waiting-reasons.ts";
import { statusBefore } from "../status.fixture.ts";
import { failingToStart } from "./failing-to-start.ts";

const waiting = (name: string, reason?: string, message?: string) =>
  statusBefore(name, { state: { waiting: { reason, message } } });
const isFalse = { type: "FailingToStart", status: "False" };

test.each([
  ["3815-1", "InvalidImageName", 'couldn\'t parse image name "BUSYBOX"'],
  ["3815-2", "ErrImageNeverPull", 'Container image "x" is not present with pull policy of Never'],
  ["3815-3", "CreateContainerConfigError", 'configmap "c" not found'],
])("%s %s: the container's reason and message", (_, reason, message) => {
  expect(failingToStart([waiting("web", reason, message)], "Pending")).toEqual({
    type: "FailingToStart",
    status: "True",
    reason,
    message,
  });
});

test.each([...waitingReasons].filter(([, { healsByItself }]) => healsByItself).map(([reason]) => reason))(
  "3815-4 %s is not a failure to start",
  (reason) => expect(failingToStart([waiting("web", reason, "x")], "Pending")).toEqual(isFalse),
);

test("3815-7 several containers: each is named", () => {
  const statuses = [
    waiting("init", "CreateContainerConfigError", 'secret "s" not found'),
    waiting("fine", "ContainerCreating"),
    waiting("web", "InvalidImageName"),
  ];
  expect(failingToStart(statuses, "Pending")).toEqual({
    type: "FailingToStart",
    status: "True",
    reason: "CreateContainerConfigError",
    message:
      'container init: CreateContainerConfigError: secret "s" not found; container web: InvalidImageName',
  });
});

test("3815-5 once it runs, it does not fail to start", () => {
  expect(failingToStart([statusBefore("web", { state: { running: {} } })], "Running")).toEqual(isFalse);
});

test.each(["Failed", "Succeeded"])("a pod that has ended (%s) does not start", (phase) => {
  expect(failingToStart([waiting("web", "InvalidImageName")], phase)).toEqual(isFalse);
});

test("a waiting container without a reason", () => {
  expect(failingToStart([waiting("web")], "Pending")).toEqual(isFalse);
});
