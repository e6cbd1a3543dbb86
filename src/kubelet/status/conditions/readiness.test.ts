import { describe, expect, test } from "vitest";
import type { ContainerStatus, PodSpec } from "../../../api/meta/objects.ts";
import { container, sidecar, statusBefore } from "../status.fixture.ts";
import { containersReady, initialized, isFalse, isTrue, ready } from "./readiness.ts";

const spec: PodSpec = {
  initContainers: [container("init"), sidecar("mesh")],
  containers: [container("web"), container("log")],
};
const status = (name: string, more: Partial<ContainerStatus>) => statusBefore(name, more);
const waiting = { state: { waiting: {} } };
const up = { state: { running: {} }, started: true, ready: true };
const done = { state: { terminated: { exitCode: 0 } }, ready: true };

describe("ContainersReady", () => {
  const all = [status("mesh", up), status("web", up), status("log", up)];
  test.each([
    ["all are", all, "Running", isTrue("ContainersReady")],
    ["nothing is known", [], "Pending", isFalse("ContainersReady", "UnknownContainerStatuses")],
    [
      "some are not, sidecars too",
      [status("mesh", waiting), status("web", up), status("log", waiting)],
      "Pending",
      isFalse("ContainersReady", "ContainersNotReady", "containers with unready status: [mesh log]"),
    ],
    [
      "some are unknown",
      [status("mesh", up), status("log", waiting)],
      "Pending",
      isFalse(
        "ContainersReady",
        "ContainersNotReady",
        "containers with unknown status: [web], containers with unready status: [log]",
      ),
    ],
    ["the pod succeeded", [...all], "Succeeded", isFalse("ContainersReady", "PodCompleted")],
    ["the pod failed, though some still run", all, "Failed", isFalse("ContainersReady", "PodFailed")],
  ])("%s", (_, statuses, phase, expected) => {
    expect(containersReady(spec, statuses, phase)).toEqual(expected);
  });
});

describe("Initialized", () => {
  const incomplete = "containers with incomplete status: ";
  test.each([
    [
      "3085-10 no init containers: from the start",
      { containers: spec.containers },
      [],
      isTrue("Initialized"),
    ],
    ["nothing is known", spec, [], isFalse("Initialized", "UnknownContainerStatuses")],
    [
      "init runs",
      spec,
      [status("init", { state: { running: {} } }), status("mesh", waiting)],
      isFalse("Initialized", "ContainersNotInitialized", `${incomplete}[init mesh]`),
    ],
    [
      "one is unknown",
      spec,
      [status("mesh", waiting)],
      isFalse(
        "Initialized",
        "ContainersNotInitialized",
        "containers with unknown status: [init], containers with incomplete status: [mesh]",
      ),
    ],
    ["init done, sidecar started", spec, [status("init", done), status("mesh", up)], isTrue("Initialized")],
    [
      "sidecar restarts, containers run",
      spec,
      [status("init", done), status("mesh", waiting), status("web", up)],
      isTrue("Initialized"),
    ],
  ])("%s", (_, podSpec, statuses, expected) => {
    expect(initialized(podSpec, statuses, "Pending")).toEqual(expected);
  });

  test("the pod succeeded", () => {
    const statuses = [status("init", done), status("mesh", waiting), status("web", done)];
    expect(initialized(spec, statuses, "Succeeded")).toEqual(isTrue("Initialized", "PodCompleted"));
  });
});

describe("Ready", () => {
  const gated: PodSpec = { ...spec, readinessGates: [{ conditionType: "example.com/lb" }] };
  const gate = (state: string) => ({ type: "example.com/lb", status: state });
  const yes = isTrue("ContainersReady");

  test("equals ContainersReady", () => {
    const no = isFalse("ContainersReady", "ContainersNotReady", "containers with unready status: [web]");
    expect(ready(gated, no, [gate("True")])).toEqual({ ...no, type: "Ready" });
  });

  test.each([
    ["no condition", [], 'corresponding condition of pod readiness gate "example.com/lb" does not exist.'],
    [
      "not true",
      [gate("Unknown")],
      'the status of pod readiness gate "example.com/lb" is not "True", but Unknown',
    ],
  ])("a readiness gate: %s", (_, conditions, message) => {
    expect(ready(gated, yes, conditions)).toEqual(isFalse("Ready", "ReadinessGatesNotReady", message));
  });

  test("a readiness gate that is True", () => {
    expect(ready(gated, yes, [gate("True")])).toEqual(isTrue("Ready"));
  });
});
