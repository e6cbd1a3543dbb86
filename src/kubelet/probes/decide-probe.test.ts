import { expect, test } from "vitest";
import { noStreak, now, plan } from "./decide-probe.fixture.ts";
import { decideProbe, type ProbeKind, type ProbeState } from "./decide-probe.ts";

const due: ProbeState = {
  kind: "due",
  answer: "failure",
  atMs: now,
  streak: noStreak,
  lastBeganMs: now - 5_000,
};
const waiting: ProbeState = { kind: "waiting", answer: "failure", notBeforeMs: now - 1 };
const probing: ProbeState = { kind: "probing", answer: "unknown", beganMs: now - 1, streak: noStreak };
const held: ProbeState = { kind: "held", answer: "failure", streak: noStreak };
type Input = "tick" | "started" | "sync" | "stop";
const rows: [string, ProbeKind, ProbeState, Input, Partial<ProbeState> | "same"][] = [
  ["due time reached", "liveness", due, "tick", { kind: "probing", beganMs: now }],
  ["a tick while probing", "liveness", probing, "tick", "same"],
  ["a tick while waiting", "liveness", waiting, "tick", "same"],
  ["a tick while held", "liveness", held, "tick", "same"],
  [
    "950-5 container started: probes immediately, not after a period",
    "liveness",
    waiting,
    "started",
    { kind: "probing", beganMs: now, answer: "failure" },
  ],
  [
    "container started before the initial delay has passed",
    "readiness",
    { ...waiting, notBeforeMs: now + 700 },
    "started",
    { kind: "due", atMs: now + 700 },
  ],
  ["container started, reported twice", "readiness", due, "started", "same"],
  [
    "a sync of an unready container probes immediately",
    "readiness",
    due,
    "sync",
    { kind: "probing", beganMs: now },
  ],
  ["a sync soon after the last probe", "readiness", { ...due, lastBeganMs: now - 999 }, "sync", "same"],
  ["a sync of a ready container", "readiness", { ...due, answer: "success" }, "sync", "same"],
  ["a sync within the initial delay", "readiness", { ...due, lastBeganMs: undefined }, "sync", "same"],
  ["a sync does not trigger liveness probes", "liveness", due, "sync", "same"],
  ["a sync does not use the startup budget", "startup", due, "sync", "same"],
  ["pod terminates: readiness continues", "readiness", due, "stop", "same"],
  ["pod terminates: liveness stops", "liveness", due, "stop", { kind: "held", answer: "success" }],
  [
    "pod terminates: a pending kill is dropped",
    "liveness",
    held,
    "stop",
    { kind: "held", answer: "success" },
  ],
  [
    "pod terminates: a starting container does not become started",
    "startup",
    probing,
    "stop",
    { kind: "held", answer: "unknown" },
  ],
  [
    "pod terminates: a failed startup no longer kills",
    "startup",
    held,
    "stop",
    { kind: "held", answer: "unknown" },
  ],
  [
    "pod terminates: a started container stays started",
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
