import { describe, expect, test } from "vitest";
import {
  beginProbe,
  decideProbe,
  type ProbeBeginning,
  type ProbeDecision,
  type ProbeKind,
  type ProbePlan,
  type ProbeResult,
  type ProbeState,
  planProbe,
} from "./decide-probe.ts";

const now = 1_000_000;
const plan = (kind: ProbeKind, changes: Partial<ProbePlan> = {}): ProbePlan => ({
  ...planProbe(kind, {}),
  ...changes,
});
const none = { result: "failure", length: 0 } as const;

describe("planProbe", () => {
  test("950-7 zeros and what is left out stand for the API's defaults", () => {
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

  test("950-7 seconds become milliseconds", () => {
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
});

test("a timeout longer than timers reach is as long as they do", () => {
  expect(planProbe("liveness", { timeoutSeconds: 2 ** 31 - 1 }).timeoutMs).toBe(2 ** 31 - 1);
});

describe("beginProbe", () => {
  const rows: [string, ProbeKind, Partial<ProbePlan>, Partial<ProbeBeginning>, Partial<ProbeState>][] = [
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

describe("decideProbe: inputs other than results", () => {
  const due: ProbeState = {
    kind: "due",
    answer: "failure",
    atMs: now,
    streak: none,
    lastBeganMs: now - 5_000,
  };
  const waiting: ProbeState = { kind: "waiting", answer: "failure", notBeforeMs: now - 1 };
  const probing: ProbeState = { kind: "probing", answer: "unknown", beganMs: now - 1, streak: none };
  const held: ProbeState = { kind: "held", answer: "failure", streak: none };
  type Input = "tick" | "started" | "look" | "stop";
  const rows: [string, ProbeKind, ProbeState, Input, Partial<ProbeState> | "same"][] = [
    ["its time has come", "liveness", due, "tick", { kind: "probing", beganMs: now }],
    ["a tick while probing", "liveness", probing, "tick", "same"],
    ["a tick while waiting", "liveness", waiting, "tick", "same"],
    ["a tick on hold", "liveness", held, "tick", "same"],
    [
      "950-5 the startup is over: probed at once, not after a period",
      "liveness",
      waiting,
      "started",
      { kind: "probing", beganMs: now, answer: "failure" },
    ],
    [
      "the startup is over before the initial delay is",
      "readiness",
      { ...waiting, notBeforeMs: now + 700 },
      "started",
      { kind: "due", atMs: now + 700 },
    ],
    ["the startup is over, said twice", "readiness", due, "started", "same"],
    [
      "a look at what is not ready probes at once",
      "readiness",
      due,
      "look",
      { kind: "probing", beganMs: now },
    ],
    ["a look soon after the last probe", "readiness", { ...due, lastBeganMs: now - 999 }, "look", "same"],
    ["a look at what is ready", "readiness", { ...due, answer: "success" }, "look", "same"],
    ["a look within the initial delay", "readiness", { ...due, lastBeganMs: undefined }, "look", "same"],
    ["a look does not hurry liveness", "liveness", due, "look", "same"],
    ["a look does not spend the startup budget", "startup", due, "look", "same"],
    ["the pod ends: readiness goes on", "readiness", due, "stop", "same"],
    ["the pod ends: liveness stops", "liveness", due, "stop", { kind: "held", answer: "success" }],
    [
      "the pod ends: a pending kill is dropped",
      "liveness",
      held,
      "stop",
      { kind: "held", answer: "success" },
    ],
    [
      "the pod ends: a starting container does not become started",
      "startup",
      probing,
      "stop",
      { kind: "held", answer: "unknown" },
    ],
    [
      "the pod ends: a failed startup is no kill any more",
      "startup",
      held,
      "stop",
      { kind: "held", answer: "unknown" },
    ],
    [
      "the pod ends: a started container stays started",
      "startup",
      { ...held, answer: "success" },
      "stop",
      { kind: "held", answer: "success" },
    ],
    ["the pod ends while liveness waits", "liveness", waiting, "stop", { kind: "held", answer: "success" }],
  ];
  test.each(rows)("%s", (_name, kind, state, input, expected) => {
    const decision = decideProbe(plan(kind), state, { input: { kind: input }, now });
    expect(decision.change).toBeUndefined();
    if (expected === "same") expect(decision.state).toBe(state);
    else expect(decision.state).toMatchObject(expected);
  });
});

/** Feeds results one after the other, each a period after the one before, and returns the last decision. */
function feed(plan: ProbePlan, first: ProbeState, results: readonly ProbeResult[]): ProbeDecision {
  let decision: ProbeDecision = { state: first };
  for (const result of results) {
    const { state } = decision;
    const at = state.kind === "due" ? state.atMs : now;
    const probing = decideProbe(plan, state, { input: { kind: "tick" }, now: at });
    decision = decideProbe(plan, probing.state, { input: { kind: "result", result }, now: at });
  }
  return decision;
}

describe("decideProbe: results", () => {
  const s = "success";
  const f = "failure";
  const e = "error";
  type Row = [
    string,
    ProbeKind,
    Partial<ProbePlan>,
    ProbeState["answer"],
    ProbeResult[],
    Partial<ProbeState>,
    ProbeDecision["change"],
  ];
  const rows: Row[] = [
    [
      "950-1 started as soon as the startup probe succeeds; it stops then",
      "startup",
      {},
      "unknown",
      [s],
      { kind: "held", answer: s },
      "started",
    ],
    [
      "950-5 a slow start within the budget is left alone",
      "startup",
      { failureThreshold: 30 },
      "unknown",
      Array(29).fill(f),
      { kind: "due", answer: "unknown", streak: { result: f, length: 29 } },
      undefined,
    ],
    [
      "950-3 the failure that reaches the threshold kills; it holds then",
      "startup",
      { failureThreshold: 30 },
      "unknown",
      Array(30).fill(f),
      { kind: "held", answer: f },
      "kill",
    ],
    [
      "950-1 a success after failures",
      "startup",
      {},
      "unknown",
      [f, f, s],
      { kind: "held", answer: s },
      "started",
    ],
    [
      "a failing liveness probe below its threshold",
      "liveness",
      {},
      s,
      [f, f],
      { kind: "due", answer: s },
      undefined,
    ],
    [
      "a liveness probe that failed often enough kills and holds",
      "liveness",
      {},
      s,
      [f, f, f],
      { kind: "held", answer: f },
      "kill",
    ],
    [
      "a failure threshold of one",
      "liveness",
      { failureThreshold: 1 },
      s,
      [f],
      { kind: "held", answer: f },
      "kill",
    ],
    [
      "a success ends the row of failures",
      "liveness",
      {},
      s,
      [f, f, s, f, f],
      { kind: "due", answer: s, streak: { result: f, length: 2 } },
      undefined,
    ],
    [
      "liveness that succeeds changes nothing",
      "liveness",
      {},
      s,
      [s, s],
      { kind: "due", answer: s },
      undefined,
    ],
    [
      "ready with the first success",
      "readiness",
      {},
      f,
      [f, f, f, f, s],
      { kind: "due", answer: s },
      "ready",
    ],
    ["still ready", "readiness", {}, f, [s, s], { kind: "due", answer: s }, undefined],
    [
      "ready only after as many successes as asked for",
      "readiness",
      { successThreshold: 3 },
      f,
      [s, s],
      { kind: "due", answer: f },
      undefined,
    ],
    [
      "ready with the last of them",
      "readiness",
      { successThreshold: 3 },
      f,
      [s, s, s],
      { kind: "due", answer: s },
      "ready",
    ],
    [
      "a failure between them starts the count again",
      "readiness",
      { successThreshold: 2 },
      f,
      [s, f, s],
      { kind: "due", answer: f },
      undefined,
    ],
    [
      "ready until as many failures as asked for",
      "readiness",
      {},
      s,
      [f, f],
      { kind: "due", answer: s },
      undefined,
    ],
    [
      "not ready any more, and never on hold",
      "readiness",
      {},
      s,
      [f, f, f],
      { kind: "due", answer: f },
      "unready",
    ],
    [
      "an error counts for nothing",
      "liveness",
      { failureThreshold: 1 },
      s,
      [e, e, e],
      { kind: "due", answer: s, streak: none },
      undefined,
    ],
    [
      "an error does not break a row of failures",
      "liveness",
      {},
      s,
      [f, f, e, f],
      { kind: "held", answer: f },
      "kill",
    ],
    [
      "an error does not start a container",
      "startup",
      {},
      "unknown",
      [e],
      { kind: "due", answer: "unknown" },
      undefined,
    ],
  ];
  test.each(rows)("%s", (_name, kind, changes, answer, results, expected, change) => {
    const first: ProbeState = { kind: "due", answer, atMs: now, streak: none };
    const decision = feed(plan(kind, changes), first, results);
    expect(decision.state).toMatchObject(expected);
    expect(decision.change).toBe(change);
  });

  const probing: ProbeState = { kind: "probing", answer: "success", beganMs: now, streak: none };
  const timing: [string, number, number][] = [
    ["a period after the last one began", now + 400, now + 10_000],
    ["at once when it took longer than a period", now + 12_000, now + 12_000],
    ["within a period when the system clock was set back", now - 3_600_000, now - 3_600_000 + 10_000],
  ];
  test.each(timing)("the next probe runs %s", (_name, answeredAt, expected) => {
    for (const result of ["success", "failure", "error"] as const) {
      const input = { kind: "result", result } as const;
      const { state } = decideProbe(plan("liveness"), probing, { input, now: answeredAt });
      expect(state).toMatchObject({ kind: "due", atMs: expected });
    }
  });

  test("a result that comes after a stop is not heard", () => {
    const held: ProbeState = { kind: "held", answer: "success", streak: none };
    const decision = decideProbe(plan("liveness", { failureThreshold: 1 }), held, {
      input: { kind: "result", result: "failure" },
      now,
    });
    expect(decision).toEqual({ state: held });
  });
});
