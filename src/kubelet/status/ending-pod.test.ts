import { expect, test } from "vitest";
import {
  conditionOf,
  container,
  exited,
  generate,
  later,
  makePod,
  observe,
  observedContainer,
  running,
  runningBefore,
  sandbox,
  sidecar,
  statusBefore,
  time,
} from "./status.fixture.ts";

const deadline = {
  kind: "deadline",
  reason: "DeadlineExceeded",
  message: "Pod was active on the node longer than the specified deadline",
} as const;

test("the phase changes when no container runs, readiness immediately", () => {
  const observed = observe([observedContainer("web", running)]);
  const previous = generate({ observed });
  const stopping = generate({ previous, observed, termination: deadline });
  expect(stopping).toMatchObject({ phase: "Running" });
  expect(stopping.reason).toBeUndefined();
  expect(conditionOf(stopping, "Ready")).toMatchObject({ status: "False", reason: "PodFailed" });
  const stopped = generate({
    previous: stopping,
    observed: observe([observedContainer("web", exited(137))], [sandbox({ ready: false })]),
    termination: deadline,
  });
  const { reason, message } = deadline;
  expect(stopped).toMatchObject({ phase: "Failed", reason, message });
  // And stays so.
  expect(generate({ previous: stopped, observed })).toMatchObject({ phase: "Failed", reason, message });
});

test("a rejected pod has no container statuses", () => {
  const status = generate({
    termination: { kind: "rejected", reason: "NodeAffinity", message: "Pod was rejected" },
  });
  expect(status).toMatchObject({ phase: "Failed", reason: "NodeAffinity", message: "Pod was rejected" });
  expect(status.containerStatuses).toBeUndefined();
});

test("a permanently failed init container while a sidecar runs", () => {
  const pod = makePod({
    spec: { restartPolicy: "Never", initContainers: [sidecar("mesh"), container("init")] },
  });
  const withMesh = (state: typeof running) =>
    generate({
      pod,
      observed: observe([observedContainer("init", exited(1)), observedContainer("mesh", state)]),
    });
  expect(withMesh(running).phase).toBe("Pending");
  expect(withMesh(exited(0)).phase).toBe("Failed");
});

test.each([
  ["well", 0, "Succeeded"],
  ["badly", 1, "Failed"],
])("3085-6 deleted, and ended %s", (_, exitCode, phase) => {
  const pod = makePod({ metadata: { deletionTimestamp: time } });
  const observed = observe([observedContainer("web", exited(exitCode))], [sandbox({ ready: false })]);
  const previous = generate({ observed: observe([observedContainer("web", running)]) });
  const status = generate({ pod, previous, observed, termination: { kind: "terminated" }, now: later });
  expect(status.phase).toBe(phase);
  expect(conditionOf(status, "PodReadyToStartContainers")).toMatchObject({
    status: "False",
    lastTransitionTime: "2022-12-06T15:34:47Z",
  });
});

test("a deleted pod whose container is missing has failed", () => {
  const pod = makePod({ metadata: { deletionTimestamp: time } });
  const previous = { phase: "Running", containerStatuses: [statusBefore("web", { state: runningBefore })] };
  const status = generate({ pod, previous, termination: { kind: "terminated" } });
  expect(status).toMatchObject({
    phase: "Failed",
    containerStatuses: [{ state: { terminated: { reason: "ContainerStatusUnknown", exitCode: 137 } } }],
  });
});

test("deleted during its init containers: containers that never started stay waiting", () => {
  const pod = makePod({
    spec: { initContainers: [container("one"), container("two")] },
    metadata: { deletionTimestamp: time },
  });
  const observed = observe([observedContainer("one", exited(0))], [sandbox({ ready: false })]);
  const status = generate({ pod, observed, termination: { kind: "terminated" } });
  expect(status.phase).toBe("Failed");
  expect(status.initContainerStatuses?.map(({ state }) => Object.keys(state ?? {}))).toEqual([
    ["terminated"],
    ["waiting"],
  ]);
  expect(status.containerStatuses?.[0]?.state).toHaveProperty("waiting");
});

test("the phase of a static pod is not final", () => {
  const pod = makePod({ metadata: { annotations: { "kubernetes.io/config.source": "file" } } });
  const observed = observe([observedContainer("web", exited(0))], [sandbox({ ready: false })]);
  expect(generate({ pod, observed, termination: { kind: "terminated" } }).phase).toBe("Running");
});

test.each(["Failed", "Succeeded"])("a pod that the API has as %s stays so, and keeps why", (phase) => {
  const pod = makePod({ status: { phase, reason: "NodeLost", message: "it said so" } });
  const status = generate({
    pod,
    previous: { phase: "Running" },
    observed: observe([observedContainer("web", running)]),
  });
  expect(status).toMatchObject({ phase, reason: "NodeLost", message: "it said so" });
  expect(conditionOf(status, "Ready")?.status).toBe("False");
});
