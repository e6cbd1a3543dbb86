import { describe, expect, test } from "vitest";
import { now, plan } from "./decide-probe.fixture.ts";
import {
  beginProbe,
  type InitialFacts,
  type ProbeKind,
  type ProbePlan,
  type ProbeState,
  planProbe,
} from "./decide-probe.ts";

describe("planProbe", () => {
  test("950-7 applies the API's defaults to zeros and missing fields", () => {
    const defaults = {
      kind: "startup",
      initialDelayMs: 0,
      periodMs: 10_000,
      timeoutMs: 1_000,
      successThreshold: 1,
      failureThreshold: 3,
    };
    expect(planProbe("startup", {})).toEqual(defaults);
    expect(planProbe("startup", { periodSeconds: 0, timeoutSeconds: 0, failureThreshold: 0 })).toEqual(
      defaults,
    );
  });

  test("950-7 converts seconds to milliseconds", () => {
    const probe = { initialDelaySeconds: 5, periodSeconds: 2, timeoutSeconds: 3, successThreshold: 4 };
    expect(planProbe("readiness", { ...probe, failureThreshold: 30 })).toEqual({
      kind: "readiness",
      initialDelayMs: 5_000,
      periodMs: 2_000,
      timeoutMs: 3_000,
      successThreshold: 4,
      failureThreshold: 30,
    });
  });

  test("limits the timeout to the maximum of timers", () => {
    expect(planProbe("liveness", { timeoutSeconds: 2 ** 31 - 1 }).timeoutMs).toBe(2 ** 31 - 1);
  });
});

describe("beginProbe", () => {
  const rows: [string, ProbeKind, Partial<ProbePlan>, Partial<InitialFacts>, Partial<ProbeState>][] = [
    [
      "950-1 a startup probe runs at once and says nothing yet",
      "startup",
      {},
      { started: false },
      { kind: "probing", answer: "unknown" },
    ],
    [
      "950-6 failures that a kubelet before has counted go on counting",
      "startup",
      {},
      { started: false, failures: 2 },
      { kind: "probing", answer: "unknown", streak: { result: "failure", length: 2 } },
    ],
    [
      "950-6 a container that had started before is not asked again",
      "startup",
      {},
      { started: true },
      { kind: "held", answer: "success" },
    ],
    [
      "950-2 liveness waits for the startup",
      "liveness",
      {},
      { started: false },
      { kind: "waiting", answer: "success", notBeforeMs: now },
    ],
    [
      "950-2 readiness waits for the startup",
      "readiness",
      {},
      { started: false },
      { kind: "waiting", answer: "failure", notBeforeMs: now },
    ],
    [
      "950-4 readiness known from before does not outlive a lost startup",
      "readiness",
      {},
      { started: false, ready: true },
      { kind: "waiting", answer: "failure" },
    ],
    [
      "liveness without a startup probe runs at once, taken for alive",
      "liveness",
      {},
      {},
      { kind: "probing", answer: "success" },
    ],
    [
      "readiness without a startup probe runs at once, taken for not ready",
      "readiness",
      {},
      {},
      { kind: "probing", answer: "failure" },
    ],
    [
      "950-6 what was ready stays so until a probe says otherwise",
      "readiness",
      {},
      { ready: true },
      { kind: "probing", answer: "success" },
    ],
    [
      "the initial delay counts from the container's start",
      "liveness",
      { initialDelayMs: 5_000 },
      { containerStartedAtMs: now - 2_000 },
      { kind: "due", atMs: now + 3_000 },
    ],
    [
      "an initial delay that has passed delays nothing",
      "liveness",
      { initialDelayMs: 5_000 },
      { containerStartedAtMs: now - 6_000 },
      { kind: "probing" },
    ],
    [
      "a delayed startup probe",
      "startup",
      { initialDelayMs: 5_000 },
      { started: false },
      { kind: "due", answer: "unknown", atMs: now + 5_000 },
    ],
    [
      "a waiting probe keeps its own delay",
      "readiness",
      { initialDelayMs: 5_000 },
      { started: false },
      { kind: "waiting", notBeforeMs: now + 5_000 },
    ],
    [
      "after a kubelet restart probes are spread over their period",
      "liveness",
      {},
      { containerStartedAtMs: now - 60_000, kubeletStartedAtMs: now - 10, random: 0.25 },
      { kind: "due", atMs: now + 2_500 },
    ],
    [
      "the later of spread and delay counts",
      "liveness",
      { initialDelayMs: 70_000 },
      { containerStartedAtMs: now - 60_000, kubeletStartedAtMs: now - 10, random: 0.25 },
      { kind: "due", atMs: now + 10_000 },
    ],
    [
      "a container that this kubelet started is not spread",
      "liveness",
      {},
      { kubeletStartedAtMs: now - 10, random: 0.25 },
      { kind: "probing" },
    ],
    [
      "nor is one that is found more than a period after the restart",
      "liveness",
      {},
      { containerStartedAtMs: now - 60_000, kubeletStartedAtMs: now - 10_000, random: 0.25 },
      { kind: "probing" },
    ],
  ];
  test.each(rows)("%s", (_name, kind, changes, facts, expected) => {
    const beginning = {
      now,
      containerStartedAtMs: now,
      kubeletStartedAtMs: 0,
      started: true,
      ready: false,
      failures: 0,
      random: 0.5,
    };
    expect(beginProbe(plan(kind, changes), { ...beginning, ...facts })).toMatchObject(expected);
  });
});
