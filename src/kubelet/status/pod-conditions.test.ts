import { describe, expect, test } from "vitest";
import { defaultFeatures } from "../../api/feature-gates.ts";
import {
  conditionOf,
  conditionStatuses,
  exited,
  generate,
  later,
  makePod,
  now,
  observe,
  observedContainer,
  running,
  sandbox,
  scheduledAt,
  time,
} from "./status.fixture.ts";

describe("3815-6 pod states of the proposal, field by field", () => {
  const stuck = {
    Initialized: "True",
    Ready: "False",
    ContainersReady: "False",
    PodScheduled: "True",
    PodReadyToStartContainers: "True",
    FailingToStart: "True",
  };
  test.each([
    [
      "InvalidImageName",
      'Failed to apply default image tag "BUSYBOX": couldn\'t parse image reference "BUSYBOX": invalid reference format: repository name must be lowercase',
    ],
    ["ErrImageNeverPull", 'Container image "busybox" is not present with pull policy of Never'],
    ["CreateContainerConfigError", 'configmap "special-config" not found'],
    ["CreateContainerConfigError", "couldn't find key special.how in ConfigMap default/special-config"],
  ])("Pending Pod State Review: %s, %s", (reason, message) => {
    const status = generate({ observed: observe([]), problems: new Map([["web", { reason, message }]]) });
    expect(status.phase).toBe("Pending");
    expect(status.containerStatuses?.[0]?.state).toEqual({ waiting: { reason, message } });
    expect(conditionStatuses(status)).toEqual(stuck);
    expect(conditionOf(status, "FailingToStart")).toMatchObject({ reason, message });
  });

  test.each([
    'MountVolume.SetUp failed for volume "secret-volume" : secret "test-secret" not found',
    'MountVolume.SetUp failed for volume "clusters-config-volume" : configmap "clusters-config-file" not found',
  ])("Alternatives: %s", (message) => {
    const status = generate({ sandboxProblem: { reason: "FailedMount", message } });
    expect(status.phase).toBe("Pending");
    expect(status.containerStatuses?.[0]?.state).toEqual({ waiting: { reason: "ContainerCreating" } });
    expect(conditionStatuses(status)).toEqual({
      ...stuck,
      PodReadyToStartContainers: "False",
      FailingToStart: "False",
    });
  });

  test("3815-5 mended: the condition turns False, at that time", () => {
    const problems = new Map([["web", { reason: "CreateContainerConfigError", message: "x" }]]);
    const previous = generate({ observed: observe([]), problems });
    const observed = observe([observedContainer("web", running)]);
    const status = generate({ observed, previous, now: later });
    expect(conditionOf(status, "FailingToStart")).toEqual({
      type: "FailingToStart",
      status: "False",
      lastTransitionTime: "2022-12-06T15:34:47Z",
      observedGeneration: 1,
    });
  });
});

describe("transition times", () => {
  test("3085-4 stay where they are while reasons and messages change", () => {
    const first = generate({ sandboxProblem: { reason: "FailedMount", message: "a" } });
    const second = generate({
      previous: first,
      sandboxProblem: { reason: "FailedCreatePodSandBox", message: "b" },
      now: later,
    });
    expect(conditionOf(second, "PodReadyToStartContainers")).toEqual({
      type: "PodReadyToStartContainers",
      status: "False",
      reason: "FailedCreatePodSandBox",
      message: "b",
      lastTransitionTime: time,
      observedGeneration: 1,
    });
  });

  test("3085-5 a lost sandbox: False at once, then True with the new time and address", () => {
    const web = observedContainer("web", running);
    const first = generate({ observed: observe([web]) });
    const lost = generate({
      previous: first,
      observed: observe([observedContainer("web", exited(137))], [sandbox({ ready: false })]),
      now: now + 1_000,
    });
    expect(conditionOf(lost, "PodReadyToStartContainers")).toMatchObject({
      status: "False",
      lastTransitionTime: "2022-12-06T15:33:48Z",
    });
    expect(lost.podIP).toBe("10.0.0.5");
    const newer = sandbox({ id: "sandbox-2", attempt: 1, ips: ["10.0.0.9"] });
    const again = generate({
      previous: lost,
      observed: observe(
        [observedContainer("web", running, { attempt: 1, sandboxId: "sandbox-2" })],
        [newer, sandbox({ ready: false })],
      ),
      now: now + 5_000,
    });
    expect(conditionOf(again, "PodReadyToStartContainers")).toMatchObject({
      status: "True",
      lastTransitionTime: "2022-12-06T15:33:52Z",
    });
    expect(again).toMatchObject({
      podIP: "10.0.0.9",
      startTime: time,
      containerStatuses: [{ restartCount: 1, lastState: { terminated: { exitCode: 137 } } }],
    });
  });

  test("3085-8 continue from what the API has after a restart of the kubelet", () => {
    const observed = observe([observedContainer("web", running)]);
    const pod = makePod({ status: generate({ observed }) });
    expect(generate({ pod, observed, now: later })).toEqual(pod.status);
  });
});

describe("3085-7 gates", () => {
  const features = {
    ...defaultFeatures,
    PodReadyToStartContainersCondition: false,
    PodFailingToStartCondition: false,
  };

  test("3815-8 off: not written", () => {
    const status = generate({
      features,
      problems: new Map([["web", { reason: "InvalidImageName", message: "x" }]]),
    });
    expect(Object.keys(conditionStatuses(status))).toEqual([
      "Initialized",
      "Ready",
      "ContainersReady",
      "PodScheduled",
    ]);
  });

  test("off: what an earlier kubelet wrote stays as it is", () => {
    const persisted = { type: "PodReadyToStartContainers", status: "True", lastTransitionTime: scheduledAt };
    const pod = makePod({ status: { conditions: [persisted] } });
    expect(conditionOf(generate({ pod, features }), persisted.type)).toEqual(persisted);
  });
});

test("conditions of others are kept as the API has them, and gate readiness", () => {
  const gate = { type: "example.com/lb", status: "True" };
  const target = { type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" };
  const pod = makePod({
    spec: { readinessGates: [{ conditionType: gate.type }] },
    status: { conditions: [gate, target] },
  });
  // What the kubelet wrote last knows an older state of the gate.
  const previous = { conditions: [{ ...gate, status: "False" }] };
  const status = generate({ pod, previous, observed: observe([observedContainer("web", running)]) });
  expect(status.conditions?.slice(0, 2)).toEqual([gate, target]);
  expect(conditionOf(status, "Ready")?.status).toBe("True");
});
