import { describe, expect, test } from "vitest";
import type { ContainerStatus, PodSpec } from "../../api/meta/objects.ts";
import { phaseOf } from "./generate-pod-status.ts";
import {
  conditionStatuses,
  container,
  generate,
  makePod,
  observe,
  observedContainer,
  running,
  sandbox,
  scheduledAt,
  sidecar,
  statusBefore,
  time,
} from "./status.fixture.ts";

describe("generate-pod-status", () => {
  test("the status of a new pod", () => {
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
});

describe("pod-addresses", () => {
  test.each([
    [["192.168.0.7"], ["fd00::5", "10.0.0.5", "10.0.0.6"], ["10.0.0.5", "fd00::5"]],
    [["fd00::1"], ["10.0.0.5", "fd00::5"], ["fd00::5", "10.0.0.5"]],
    [[], ["10.0.0.5"], ["10.0.0.5"]],
  ])("node %j, sandbox %j: pod %j", (hostIps, ips, expected) => {
    const status = generate({ hostIps, observed: observe([], [sandbox({ ips })]) });
    expect(status.podIPs?.map(({ ip }) => ip)).toEqual(expected);
    expect(status.hostIPs?.map(({ ip }) => ip) ?? []).toEqual(hostIps);
  });

  test("with hostNetwork they are the host's, and stay when the host's change", () => {
    const pod = makePod({ spec: { hostNetwork: true } });
    const observed = observe([], [sandbox({ ips: [] })]);
    const first = generate({ pod, observed });
    expect(first.podIPs).toEqual([{ ip: "192.168.0.7" }]);
    const second = generate({ pod, observed, previous: first, hostIps: ["192.168.0.8", "fd00::8"] });
    expect(second.podIPs).toEqual([{ ip: "192.168.0.7" }, { ip: "fd00::8" }]);
    expect(second.hostIP).toBe("192.168.0.8");
  });
});

type Kind = "waiting" | "running" | "unstarted" | "ok" | "failed" | "crashed" | "rerun" | "blank";

/** `crashed` and `rerun` wait, after they have ended with 1 and with 0. */
const states: Record<Kind, Partial<ContainerStatus>> = {
  waiting: { state: { waiting: { reason: "ContainerCreating" } } },
  running: { state: { running: {} }, started: true },
  unstarted: { state: { running: {} }, started: false },
  ok: { state: { terminated: { exitCode: 0 } } },
  failed: { state: { terminated: { exitCode: 1 } } },
  crashed: { state: { waiting: {} }, lastState: { terminated: { exitCode: 1 } } },
  rerun: { state: { waiting: {} }, lastState: { terminated: { exitCode: 0 } } },
  blank: { state: {} },
};

interface Case {
  readonly policy?: string;
  /** By container name; init containers begin with i, sidecars with s. */
  readonly statuses: Readonly<Record<string, Kind | "missing">>;
  readonly initialized?: boolean;
  readonly final?: boolean;
}

const cases: readonly (readonly [string, Case, string])[] = [
  ["no status yet", { statuses: { a: "missing" } }, "Pending"],
  ["one still waits", { statuses: { a: "running", b: "waiting" } }, "Pending"],
  ["one is unknown", { statuses: { a: "running", b: "missing" } }, "Pending"],
  ["one says nothing", { statuses: { a: "blank" } }, "Pending"],
  ["all run", { statuses: { a: "running", b: "running" } }, "Running"],
  ["one runs, one has ended", { statuses: { a: "running", b: "failed" } }, "Running"],
  ["Always: all ended well", { statuses: { a: "ok" } }, "Running"],
  ["Always: in back-off", { statuses: { a: "crashed" } }, "Running"],
  ["OnFailure: all ended well", { policy: "OnFailure", statuses: { a: "ok", b: "ok" } }, "Succeeded"],
  ["OnFailure: one failed", { policy: "OnFailure", statuses: { a: "ok", b: "failed" } }, "Running"],
  ["OnFailure: one in back-off", { policy: "OnFailure", statuses: { a: "ok", b: "crashed" } }, "Running"],
  ["Never: all ended well", { policy: "Never", statuses: { a: "ok", b: "ok" } }, "Succeeded"],
  ["Never: one failed", { policy: "Never", statuses: { a: "ok", b: "failed" } }, "Failed"],
  ["Never: one failed, one runs", { policy: "Never", statuses: { a: "running", b: "failed" } }, "Running"],
  ["final: all ended well", { statuses: { a: "ok" }, final: true }, "Succeeded"],
  ["final: one failed", { statuses: { a: "ok", b: "failed" }, final: true }, "Failed"],
  ["final: one was to run again", { statuses: { a: "rerun" }, final: true }, "Failed"],

  ["init runs", { statuses: { i: "running", a: "waiting" } }, "Pending"],
  ["init has no status", { statuses: { i: "missing", a: "running" } }, "Pending"],
  ["init done, container waits", { statuses: { i: "ok", a: "waiting" } }, "Pending"],
  ["init done, container runs", { statuses: { i: "ok", a: "running" } }, "Running"],
  ["Never: init failed", { policy: "Never", statuses: { i: "failed", a: "waiting" } }, "Failed"],
  ["Always: init failed", { statuses: { i: "failed", a: "waiting" } }, "Pending"],
  ["Always: init in back-off", { statuses: { i: "crashed", a: "waiting" } }, "Pending"],
  [
    "Never: init failed, sidecar runs",
    { policy: "Never", statuses: { i: "failed", s: "running", a: "waiting" } },
    "Failed",
  ],

  ["sidecar waits", { statuses: { s: "waiting", a: "waiting" } }, "Pending"],
  ["sidecar not started", { statuses: { s: "unstarted", a: "waiting" } }, "Pending"],
  ["sidecar restarts later", { statuses: { s: "unstarted", a: "running" }, initialized: true }, "Running"],
  ["sidecar in back-off", { statuses: { s: "crashed", a: "running" } }, "Running"],
  ["Never: sidecar runs on", { policy: "Never", statuses: { s: "running", a: "ok" } }, "Running"],
  ["Never: sidecar failed after all", { policy: "Never", statuses: { s: "failed", a: "ok" } }, "Succeeded"],
  ["sidecar has no status", { statuses: { s: "missing", a: "running" } }, "Pending"],
];

test.each(cases)("%s", (_, { policy, statuses, initialized = false, final = false }, phase) => {
  const names = Object.keys(statuses);
  const spec: PodSpec = {
    restartPolicy: policy ?? "Always",
    initContainers: [
      ...names.filter((name) => name === "i").map((name) => container(name)),
      ...names.filter((name) => name === "s").map((name) => sidecar(name)),
    ],
    containers: names.filter((name) => "ab".includes(name)).map((name) => container(name)),
  };
  const known = Object.entries(statuses).flatMap(([name, kind]) =>
    kind === "missing" ? [] : [statusBefore(name, states[kind])],
  );
  expect(phaseOf({ spec, statuses: known, initialized, final })).toBe(phase);
});

test("a container's own restart rules count", () => {
  const rules = { restartPolicy: "Never", restartPolicyRules: [restartOn(42)] };
  const spec: PodSpec = { restartPolicy: "Never", containers: [container("a", rules)] };
  const phase = (exitCode: number) =>
    phaseOf({
      spec,
      statuses: [statusBefore("a", { state: { terminated: { exitCode } } })],
      initialized: true,
      final: false,
    });
  expect(phase(42)).toBe("Running");
  expect(phase(1)).toBe("Failed");
});

function restartOn(code: number) {
  return { action: "Restart", exitCodes: { operator: "In", values: [code] } };
}
