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
  ["a look at what is not ready probes at once", "readiness", due, "look", { kind: "probing", beganMs: now }],
  ["a look soon after the last probe", "readiness", { ...due, lastBeganMs: now - 999 }, "look", "same"],
  ["a look at what is ready", "readiness", { ...due, answer: "success" }, "look", "same"],
  ["a look within the initial delay", "readiness", { ...due, lastBeganMs: undefined }, "look", "same"],
  ["a look does not hurry liveness", "liveness", due, "look", "same"],
  ["a look does not spend the startup budget", "startup", due, "look", "same"],
  ["the pod ends: readiness goes on", "readiness", due, "stop", "same"],
  ["the pod ends: liveness stops", "liveness", due, "stop", { kind: "held", answer: "success" }],
  ["the pod ends: a pending kill is dropped", "liveness", held, "stop", { kind: "held", answer: "success" }],
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
