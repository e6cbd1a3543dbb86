import { describe, expect, test } from "vitest";
import type { ContainerStatus, Pod } from "../../../meta/objects.ts";
import { cellsOf } from "../../cells.fixture.ts";
import { summarizePod } from "./columns.ts";

test("the wide columns", () => {
  const status = {
    phase: "Running",
    podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }],
    nominatedNodeName: "n2",
    conditions: [{ type: "g1", status: "True" }],
    containerStatuses: [
      {
        name: "a",
        ready: true,
        restartCount: 2,
        state: { running: {} },
        lastState: { terminated: { exitCode: 1, finishedAt: "2026-01-01T00:55:00Z" } },
      },
    ],
  };
  const spec = {
    nodeName: "n1",
    containers: [{ name: "a" }],
    readinessGates: [{ conditionType: "g1" }, { conditionType: "g2" }],
  };
  expect(cellsOf("Pod", { spec, status })).toEqual([
    "x",
    "1/1",
    "Running",
    "2 (5m ago)",
    "60m",
    "10.0.0.1",
    "n1",
    "n2",
    "1/2",
  ]);
});

test("a new pod has none of these values", () => {
  expect(cellsOf("Pod", { spec: { containers: [{ name: "a" }] }, status: { phase: "Pending" } })).toEqual([
    "x",
    "0/1",
    "Pending",
    "0",
    "60m",
    "<none>",
    "<none>",
    "<none>",
    "<none>",
  ]);
});

type Spec = { containers?: number; init?: ("plain" | "sidecar")[] };
type Status = Partial<NonNullable<Pod["status"]>>;

function makePod(spec: Spec, status: Status, metadata: Pod["metadata"] = {}): Pod {
  const names = (count: number, prefix: string) =>
    Array.from({ length: count }, (_, index) => `${prefix}${index}`);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata,
    spec: {
      containers: names(spec.containers ?? 1, "c").map((name) => ({ name })),
      initContainers: (spec.init ?? []).map((kind, index) => ({
        name: `i${index}`,
        ...(kind === "sidecar" && { restartPolicy: "Always" }),
      })),
    },
    status,
  };
}

type State = ContainerStatus["state"];
const running: State = { running: {} };
const waiting = (reason?: string): State => ({ waiting: { reason } });
const ended = (exitCode: number, reason?: string, signal?: number): State => ({
  terminated: { exitCode, reason, signal },
});
const condition = (type: string, status = "True", reason?: string) => ({ type, status, reason });

function container(name: string, state: State, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name, state, image: "", imageID: "", ready: false, restartCount: 0, ...more };
}

const ready = { ready: true };
const started = { started: true };

describe("the STATUS column", () => {
  const rows: [string, Spec, Status, string][] = [
    ["no status yet", {}, {}, "0/1 "],
    ["pending", {}, { phase: "Pending" }, "0/1 Pending"],
    ["evicted", {}, { phase: "Failed", reason: "Evicted" }, "0/1 Evicted"],
    [
      "scheduling gates",
      {},
      { phase: "Pending", conditions: [condition("PodScheduled", "False", "SchedulingGated")] },
      "0/1 SchedulingGated",
    ],
    [
      "creating",
      {},
      { phase: "Pending", containerStatuses: [container("c0", waiting("ContainerCreating"))] },
      "0/1 ContainerCreating",
    ],
    [
      "waiting without a reason",
      {},
      { phase: "Pending", containerStatuses: [container("c0", waiting())] },
      "0/1 Pending",
    ],
    [
      "running",
      {},
      { phase: "Running", containerStatuses: [container("c0", running, ready)] },
      "1/1 Running",
    ],
    [
      "running, not ready",
      {},
      { phase: "Running", containerStatuses: [container("c0", running)] },
      "0/1 Running",
    ],
    [
      "ended with a signal",
      {},
      { phase: "Failed", containerStatuses: [container("c0", ended(137, "", 9))] },
      "0/1 Signal:9",
    ],
    [
      "ended with a code",
      {},
      { phase: "Failed", containerStatuses: [container("c0", ended(3))] },
      "0/1 ExitCode:3",
    ],
    [
      "the first container has the last word",
      { containers: 2 },
      {
        phase: "Running",
        containerStatuses: [
          container("c0", waiting("CrashLoopBackOff")),
          container("c1", waiting("ErrImagePull")),
        ],
      },
      "0/2 CrashLoopBackOff",
    ],
    [
      "completed",
      {},
      { phase: "Succeeded", containerStatuses: [container("c0", ended(0, "Completed"))] },
      "0/1 Completed",
    ],
    [
      "one completed, one running, pod ready",
      { containers: 2 },
      {
        phase: "Running",
        conditions: [condition("Ready")],
        containerStatuses: [container("c0", ended(0, "Completed")), container("c1", running, ready)],
      },
      "1/2 Running",
    ],
    [
      "one completed, one running, pod not ready",
      { containers: 2 },
      {
        phase: "Running",
        containerStatuses: [container("c0", ended(0, "Completed")), container("c1", running, ready)],
      },
      "1/2 NotReady",
    ],
    [
      "one completed, one failed",
      { containers: 2 },
      {
        phase: "Failed",
        containerStatuses: [container("c0", ended(0, "Completed")), container("c1", ended(1, "Error"))],
      },
      "0/2 Error",
    ],
    [
      "first of two init containers",
      { init: ["plain", "plain"] },
      {
        phase: "Pending",
        initContainerStatuses: [container("i0", running), container("i1", waiting("PodInitializing"))],
        containerStatuses: [container("c0", waiting("PodInitializing"))],
      },
      "0/1 Init:0/2",
    ],
    [
      "second of two init containers",
      { init: ["plain", "plain"] },
      {
        phase: "Pending",
        initContainerStatuses: [container("i0", ended(0, "Completed")), container("i1", running)],
      },
      "0/1 Init:1/2",
    ],
    [
      "an init container that crashes",
      { init: ["plain"] },
      { phase: "Pending", initContainerStatuses: [container("i0", waiting("CrashLoopBackOff"))] },
      "0/1 Init:CrashLoopBackOff",
    ],
    [
      "a failed init container",
      { init: ["plain"] },
      { initContainerStatuses: [container("i0", ended(1, "Error"))] },
      "0/1 Init:Error",
    ],
    [
      "an init container's signal",
      { init: ["plain"] },
      { initContainerStatuses: [container("i0", ended(137, "", 9))] },
      "0/1 Init:Signal:9",
    ],
    [
      "an init container's code",
      { init: ["plain"] },
      { initContainerStatuses: [container("i0", ended(7))] },
      "0/1 Init:ExitCode:7",
    ],
    [
      "after the init containers",
      { init: ["plain"] },
      {
        phase: "Pending",
        initContainerStatuses: [container("i0", ended(0, "Completed"))],
        containerStatuses: [container("c0", waiting("PodInitializing"))],
      },
      "0/1 PodInitializing",
    ],
    [
      "a sidecar counts as a container",
      { init: ["sidecar"] },
      {
        phase: "Running",
        initContainerStatuses: [container("i0", running, { ...ready, ...started })],
        containerStatuses: [container("c0", running, ready)],
      },
      "2/2 Running",
    ],
    [
      "a sidecar that has not started",
      { init: ["sidecar", "plain"] },
      {
        phase: "Pending",
        initContainerStatuses: [container("i0", running), container("i1", waiting("PodInitializing"))],
      },
      "0/2 Init:0/2",
    ],
    [
      "a sidecar that broke in a running pod",
      { init: ["sidecar"] },
      {
        phase: "Running",
        conditions: [condition("Initialized")],
        initContainerStatuses: [container("i0", waiting("CrashLoopBackOff"))],
        containerStatuses: [container("c0", running, ready)],
      },
      "1/2 Init:CrashLoopBackOff",
    ],
  ];

  test.each(rows)("%s", (_, spec, status, expected) => {
    const { readyContainers, totalContainers, reason } = summarizePod(makePod(spec, status));
    expect(`${readyContainers}/${totalContainers} ${reason}`).toBe(expected);
  });

  test.each([
    [{ phase: "Running" }, "Terminating"],
    [{ phase: "Running", reason: "NodeLost" }, "Unknown"],
    [{ phase: "Succeeded" }, "Succeeded"],
    [{ phase: "Failed" }, "Failed"],
  ])("deleted in %j is %s", (status, expected) => {
    expect(summarizePod(makePod({}, status, { deletionTimestamp: "2026-01-01T00:00:00Z" })).reason).toBe(
      expected,
    );
  });
});

describe("restarts", () => {
  const restarted = (restartCount: number, finishedAt: string): Partial<ContainerStatus> => ({
    restartCount,
    lastState: { terminated: { exitCode: 1, finishedAt } },
  });
  const early = "2026-01-01T00:00:00Z";
  const late = "2026-01-02T00:00:00Z";

  test.each<[string, Spec, Status, { count: number; lastAt: number }]>([
    ["none", {}, { containerStatuses: [container("c0", running)] }, { count: 0, lastAt: 0 }],
    [
      "of all containers, with the last of their ends",
      { containers: 2 },
      {
        containerStatuses: [
          container("c0", running, restarted(2, late)),
          container("c1", running, restarted(1, early)),
        ],
      },
      { count: 3, lastAt: Date.parse(late) },
    ],
    [
      "of init containers while they are at work",
      { init: ["plain"] },
      { initContainerStatuses: [container("i0", waiting("CrashLoopBackOff"), restarted(4, early))] },
      { count: 4, lastAt: Date.parse(early) },
    ],
    [
      "of sidecars, but no longer of other init containers, once containers run",
      { init: ["plain", "sidecar"] },
      {
        initContainerStatuses: [
          container("i0", ended(0), restarted(9, late)),
          container("i1", running, { ...started, ...restarted(1, early) }),
        ],
        containerStatuses: [container("c0", running, ready)],
      },
      { count: 1, lastAt: Date.parse(early) },
    ],
  ])("%s", (_, spec, status, expected) => {
    expect(summarizePod(makePod(spec, status)).restarts).toEqual(expected);
  });
});
