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
  ["ready with the first success", "readiness", {}, f, [f, f, f, f, s], { kind: "due", answer: s }, "ready"],
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
    { kind: "due", answer: s, streak: noStreak },
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
  const first: ProbeState = { kind: "due", answer, atMs: now, streak: noStreak };
  const decision = feed(plan(kind, changes), first, results);
  expect(decision.state).toMatchObject(expected);
  expect(decision.change).toBe(change);
});

const probing: ProbeState = { kind: "probing", answer: "success", beganMs: now, streak: noStreak };
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
  const held: ProbeState = { kind: "held", answer: "success", streak: noStreak };
  const decision = decideProbe(plan("liveness", { failureThreshold: 1 }), held, {
    input: { kind: "result", result: "failure" },
    now,
  });
  expect(decision).toEqual({ state: held });
});
