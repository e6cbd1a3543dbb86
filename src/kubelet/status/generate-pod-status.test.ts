import { describe, expect, test } from "vitest";
import { defaultFeatures } from "../../api/feature-gates.ts";
import type { PodStatus } from "../../api/objects.ts";
import { generatePodStatus } from "./generate-pod-status.ts";
import {
  conditionOf,
  container,
  exited,
  makeFacts,
  makePod,
  now,
  observe,
  observedContainer,
  running,
  runningBefore,
  sandbox,
  scheduledAt,
  sidecar,
  statusBefore,
} from "./status.fixture.ts";
import type { StatusFacts } from "./status-facts.ts";

const time = "2022-12-06T15:33:47Z";
const later = now + 60_000;

function generate(facts: Partial<StatusFacts>): PodStatus {
  return generatePodStatus(makeFacts(facts));
}

function conditionStatuses(status: PodStatus): Record<string, string> {
  return Object.fromEntries((status.conditions ?? []).map(({ type, status }) => [type, status]));
}

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

describe("addresses", () => {
  test.each([
    [["192.168.0.7"], ["fd00::5", "10.0.0.5", "10.0.0.6"], ["10.0.0.5", "fd00::5"]],
    [["fd00::1"], ["10.0.0.5", "fd00::5"], ["fd00::5", "10.0.0.5"]],
    [[], ["10.0.0.5"], ["10.0.0.5"]],
  ])("node %j, sandbox %j: pod %j", (hostIps, ips, expected) => {
    const status = generate({ hostIps, observed: observe([], [sandbox({ ips })]) });
    expect(status.podIPs?.map(({ ip }) => ip)).toEqual(expected);
    expect(status.hostIPs?.map(({ ip }) => ip) ?? []).toEqual(hostIps);
  });

  test("on the host's network they are the host's, and stay when those change", () => {
    const pod = makePod({ spec: { hostNetwork: true } });
    const observed = observe([], [sandbox({ ips: [] })]);
    const first = generate({ pod, observed });
    expect(first.podIPs).toEqual([{ ip: "192.168.0.7" }]);
    const second = generate({ pod, observed, previous: first, hostIps: ["192.168.0.8", "fd00::8"] });
    expect(second.podIPs).toEqual([{ ip: "192.168.0.7" }, { ip: "fd00::8" }]);
    expect(second.hostIP).toBe("192.168.0.8");
  });
});

describe("endings", () => {
  const deadline = {
    kind: "deadline",
    reason: "DeadlineExceeded",
    message: "Pod was active on the node longer than the specified deadline",
  } as const;

  test("the phase waits until nothing runs; readiness does not", () => {
    const observed = observe([observedContainer("web", running)]);
    const previous = generate({ observed });
    const stopping = generate({ previous, observed, ending: deadline });
    expect(stopping).toMatchObject({ phase: "Running" });
    expect(stopping.reason).toBeUndefined();
    expect(conditionOf(stopping, "Ready")).toMatchObject({ status: "False", reason: "PodFailed" });
    const stopped = generate({
      previous: stopping,
      observed: observe([observedContainer("web", exited(137))], [sandbox({ ready: false })]),
      ending: deadline,
    });
    const { reason, message } = deadline;
    expect(stopped).toMatchObject({ phase: "Failed", reason, message });
    // And stays so.
    expect(generate({ previous: stopped, observed })).toMatchObject({ phase: "Failed", reason, message });
  });

  test("a pod that was turned away has no container statuses", () => {
    const status = generate({
      ending: { kind: "rejected", reason: "NodeAffinity", message: "Pod was rejected" },
    });
    expect(status).toMatchObject({ phase: "Failed", reason: "NodeAffinity", message: "Pod was rejected" });
    expect(status.containerStatuses).toBeUndefined();
  });

  test("an init container that has failed for good, while a sidecar still runs", () => {
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
    const status = generate({ pod, previous, observed, ending: { kind: "terminated" }, now: later });
    expect(status.phase).toBe(phase);
    expect(conditionOf(status, "PodReadyToStartContainers")).toMatchObject({
      status: "False",
      lastTransitionTime: "2022-12-06T15:34:47Z",
    });
  });

  test("deleted, and its container cannot be found: it counts as failed", () => {
    const pod = makePod({ metadata: { deletionTimestamp: time } });
    const previous = { phase: "Running", containerStatuses: [statusBefore("web", { state: runningBefore })] };
    const status = generate({ pod, previous, ending: { kind: "terminated" } });
    expect(status).toMatchObject({
      phase: "Failed",
      containerStatuses: [{ state: { terminated: { reason: "ContainerStatusUnknown", exitCode: 137 } } }],
    });
  });

  test("deleted before its init containers were done: containers whose turn never came stay waiting", () => {
    const pod = makePod({
      spec: { initContainers: [container("one"), container("two")] },
      metadata: { deletionTimestamp: time },
    });
    const observed = observe([observedContainer("one", exited(0))], [sandbox({ ready: false })]);
    const status = generate({ pod, observed, ending: { kind: "terminated" } });
    expect(status.phase).toBe("Failed");
    expect(status.initContainerStatuses?.map(({ state }) => Object.keys(state ?? {}))).toEqual([
      ["terminated"],
      ["waiting"],
    ]);
    expect(status.containerStatuses?.[0]?.state).toHaveProperty("waiting");
  });

  test("a static pod's phase stays open", () => {
    const pod = makePod({ metadata: { annotations: { "kubernetes.io/config.source": "file" } } });
    const observed = observe([observedContainer("web", exited(0))], [sandbox({ ready: false })]);
    expect(generate({ pod, observed, ending: { kind: "terminated" } }).phase).toBe("Running");
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
});
