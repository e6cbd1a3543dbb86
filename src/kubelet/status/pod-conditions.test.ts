import { describe, expect, test } from "vitest";
import { defaultFeatures } from "../../api/meta/feature-gates.ts";
import type { ContainerStatus, PodSpec } from "../../api/meta/objects.ts";
import {
  containersReady,
  initialized,
  isFalse,
  isTrue,
  ready,
  readyToStartContainers,
} from "./pod-conditions.ts";
import {
  conditionOf,
  conditionStatuses,
  container,
  exited,
  generate,
  later,
  makeFacts,
  makePod,
  now,
  observe,
  observedContainer,
  running,
  sandbox,
  scheduledAt,
  sidecar,
  statusBefore,
  time,
} from "./status.fixture.ts";
import type { StatusFacts } from "./status-facts.ts";

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

  test("3815-5 turns False with a new transition time when the problem is fixed", () => {
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
  const second = 1_000;
  const withSandbox = (status: "True" | "False" | undefined, more: object = {}) =>
    generate({
      pod: makePod({
        status: {
          conditions: status ? [{ type: "PodReadyToStartContainers", status, lastTransitionTime: time }] : [],
        },
      }),
      now: later,
      ...more,
    });
  const sandboxOf = (createdAtMs: number) => observe([], [sandbox({ createdAtMs })]);

  test.each<[string, "True" | "False" | undefined, number, string]>([
    ["the API has it as False", "False", now + 20 * second, "2022-12-06T15:34:07Z"],
    ["the API does not have it", undefined, now + 20 * second, "2022-12-06T15:34:07Z"],
    ["the API has it as False since a later time", "False", now - 20 * second, time],
    ["the API has it as True", "True", now - 2 * second, time],
    ["the API has it as True, written in the second of the creation", "True", now + 999, time],
    ["the API has it as True of an earlier sandbox", "True", now + 20 * second, "2022-12-06T15:34:07Z"],
    ["the clock was set back since", "False", later + 20 * second, "2022-12-06T15:34:47Z"],
  ])("3085-8 the sandbox of a previous kubelet, and %s", (_, status, createdAtMs, expected) => {
    const generated = withSandbox(status, {
      observed: sandboxOf(createdAtMs),
      isFirst: true,
    });
    expect(conditionOf(generated, "PodReadyToStartContainers")).toMatchObject({
      status: "True",
      lastTransitionTime: expected,
    });
  });

  test("3085-2 a sandbox that this kubelet created is ready from now on, however long its creation took", () => {
    const generated = withSandbox("False", { observed: sandboxOf(now + second) });
    expect(conditionOf(generated, "PodReadyToStartContainers")?.lastTransitionTime).toBe(
      "2022-12-06T15:34:47Z",
    );
  });

  test("3085-4 do not change with reasons and messages", () => {
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

  test("3085-8 continue from the API after a restart of the kubelet", () => {
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

  test("off: conditions that an earlier kubelet wrote are unchanged", () => {
    const persisted = { type: "PodReadyToStartContainers", status: "True", lastTransitionTime: scheduledAt };
    const pod = makePod({ status: { conditions: [persisted] } });
    expect(conditionOf(generate({ pod, features }), persisted.type)).toEqual(persisted);
  });
});

test("conditions of other writers are kept and used as readiness gates", () => {
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

const lost = sandbox({ ready: false });
const older = sandbox({ id: "sandbox-0", attempt: 0 });
const withoutIp = sandbox({ ips: [] });
const failedMount = {
  reason: "FailedMount",
  message: 'MountVolume.SetUp failed for volume "s" : secret "x" not found',
};

const cases: readonly (readonly [string, Partial<StatusFacts>, string | undefined])[] = [
  ["3085-1 no sandbox", {}, "no pod sandbox exists"],
  ["3085-1 a ready sandbox", { observed: observe([]) }, undefined],
  ["3085-5 a lost sandbox", { observed: observe([], [lost]) }, "pod sandbox is not ready"],
  [
    "3085-1 a sandbox without address",
    { observed: observe([], [withoutIp]) },
    "pod sandbox has no IP address",
  ],
  [
    "3085-1 the same on the host's network",
    { pod: makePod({ spec: { hostNetwork: true } }), observed: observe([], [withoutIp]) },
    undefined,
  ],
  ["one lost, one ready", { observed: observe([], [sandbox(), sandbox({ ready: false })]) }, undefined],
  ["the newer lost", { observed: observe([], [lost, older]) }, "pod sandbox is not ready"],
  [
    "two ready",
    { observed: observe([], [sandbox(), older]) },
    "multiple pod sandboxes are ready and need to be reconciled",
  ],
  [
    "3085-6 all has been stopped",
    { observed: observe([]), termination: { kind: "terminated" } },
    "pod sandbox is not ready",
  ],
  [
    "a problem of before, overcome",
    { observed: observe([]), sandboxProblem: { reason: "FailedCreatePodSandBox", message: "no" } },
    undefined,
  ],
  [
    "a volume that fails beside containers that were made",
    { observed: observe([observedContainer("web", running)]), sandboxProblem: failedMount },
    undefined,
  ],
];

test.each(cases)("%s", (_, facts, missing) => {
  const probeResult = readyToStartContainers(makeFacts(facts));
  expect(probeResult).toEqual(
    missing === undefined
      ? { type: "PodReadyToStartContainers", status: "True" }
      : {
          type: "PodReadyToStartContainers",
          status: "False",
          reason: "PodSandboxNotReady",
          message: missing,
        },
  );
});

test.each([
  ["3085-4 what keeps the sandbox away is said", undefined],
  ["3085-3 volumes that failed while the sandbox was made keep it False", observe([])],
])("%s", (_, observed) => {
  expect(readyToStartContainers(makeFacts({ observed, sandboxProblem: failedMount }))).toMatchObject({
    status: "False",
    ...failedMount,
  });
});

test("a terminated pod does not wait for its volumes", () => {
  const termination = { kind: "terminated" } as const;
  expect(readyToStartContainers(makeFacts({ sandboxProblem: failedMount, termination }))).toMatchObject({
    reason: "PodSandboxNotReady",
  });
});

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
