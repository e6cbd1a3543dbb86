import { expect, test } from "vitest";
import { noStreak, now, plan } from "./decide-probe.fixture.ts";
import {
  decideProbe,
  type ProbeDecision,
  type ProbeKind,
  type ProbePlan,
  type ProbeResult,
  type ProbeState,
} from "./decide-probe.ts";

/** Applies results one period apart and returns the last decision. */
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
    "a liveness probe that reaches its failure threshold kills and stops",
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
    "a success resets the failures",
    "liveness",
    {},
    s,
    [f, f, s, f, f],
    { kind: "due", answer: s, streak: { result: f, length: 2 } },
    undefined,
  ],
  [
    "a successful liveness probe changes nothing",
    "liveness",
    {},
    s,
    [s, s],
    { kind: "due", answer: s },
    undefined,
  ],
  ["ready with the first success", "readiness", {}, f, [f, f, f, f, s], { kind: "due", answer: s }, "ready"],
  ["still ready", "readiness", {}, f, [s, s], { kind: "due", answer: s }, undefined],
  [
    "not ready before the success threshold",
    "readiness",
    { successThreshold: 3 },
    f,
    [s, s],
    { kind: "due", answer: f },
    undefined,
  ],
  [
    "ready at the success threshold",
    "readiness",
    { successThreshold: 3 },
    f,
    [s, s, s],
    { kind: "due", answer: s },
    "ready",
  ],
  [
    "a failure resets the successes",
    "readiness",
    { successThreshold: 2 },
    f,
    [s, f, s],
    { kind: "due", answer: f },
    undefined,
  ],
  ["ready until the failure threshold", "readiness", {}, s, [f, f], { kind: "due", answer: s }, undefined],
  [
    "unready at the failure threshold, and continues to probe",
    "readiness",
    {},
    s,
    [f, f, f],
    { kind: "due", answer: f },
    "unready",
  ],
  [
    "an error is not counted",
    "liveness",
    { failureThreshold: 1 },
    s,
    [e, e, e],
    { kind: "due", answer: s, streak: noStreak },
    undefined,
  ],
  [
    "an error does not reset the failures",
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
  const first: ProbeState = { kind: "due", answer, atMs: now, streak: noStreak };
  const decision = feed(plan(kind, changes), first, results);
  expect(decision.state).toMatchObject(expected);
  expect(decision.change).toBe(change);
});

const probing: ProbeState = { kind: "probing", answer: "success", beganMs: now, streak: noStreak };
const timing: [string, number, number][] = [
  ["a period after the last one started", now + 400, now + 10_000],
  ["immediately if it took longer than a period", now + 12_000, now + 12_000],
  ["within a period when the system clock was set back", now - 3_600_000, now - 3_600_000 + 10_000],
];
test.each(timing)("the next probe runs %s", (_name, answeredAt, expected) => {
  for (const result of ["success", "failure", "error"] as const) {
    const input = { kind: "result", result } as const;
    const { state } = decideProbe(plan("liveness"), probing, { input, now: answeredAt });
    expect(state).toMatchObject({ kind: "due", atMs: expected });
  }
});

test("ignores a result after a stop", () => {
  const held: ProbeState = { kind: "held", answer: "success", streak: noStreak };
  const decision = decideProbe(plan("liveness", { failureThreshold: 1 }), held, {
    input: { kind: "result", result: "failure" },
    now,
  });
  expect(decision).toEqual({ state: held });
});
