import type { Probe } from "../../api/objects.ts";

export type ProbeKind = "startup" | "liveness" | "readiness";

/** A probe's numbers, with the API's defaults in the place of zeros. */
export interface ProbePlan {
  readonly kind: ProbeKind;
  readonly initialDelayMs: number;
  readonly periodMs: number;
  readonly timeoutMs: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

/** How one run of a probe ended. A timeout is a failure; what could not be run at all is an error and counts for nothing. */
export type ProbeResult = "success" | "failure" | "error";

/**
 * Where a probe of one container stands. `answer` is what it says of the container: nothing yet for a startup probe,
 * and until told otherwise that it is alive and that it is not ready.
 *
 *   waiting --startup is over--> due --its time has come--> probing
 *                                 ^                            |
 *                                 +--------- a result ---------+--startup settled, liveness failed--> held
 *
 * A held probe runs no more: a restart makes a new container, which has probes of its own.
 */
export type ProbeState =
  | { readonly kind: "waiting"; readonly answer: ProbeAnswer; readonly notBeforeMs: number }
  | {
      readonly kind: "due";
      readonly answer: ProbeAnswer;
      readonly atMs: number;
      readonly streak: Streak;
      readonly lastBeganMs?: number;
    }
  | {
      readonly kind: "probing";
      readonly answer: ProbeAnswer;
      readonly beganMs: number;
      readonly streak: Streak;
    }
  | { readonly kind: "held"; readonly answer: ProbeAnswer; readonly streak: Streak };

export type ProbeAnswer = "unknown" | "success" | "failure";

/** How many results in a row were alike. */
interface Streak {
  readonly result: "success" | "failure";
  readonly length: number;
}

export type ProbeInput =
  /** The time it was due at has come, by a clock that may have been set since. */
  | { readonly kind: "tick" }
  | { readonly kind: "result"; readonly result: ProbeResult }
  /** The container's startup is over: liveness and readiness begin. */
  | { readonly kind: "started" }
  /** Somebody looks at the pod and would like to see it ready. */
  | { readonly kind: "look" }
  /** The pod ends. */
  | { readonly kind: "stop" };

export interface ProbeDecision {
  /** Says when the next probe runs: at `atMs` when due, now when probing, else not before another input. */
  readonly state: ProbeState;
  readonly change?: "started" | "ready" | "unready" | "kill";
}

export interface ProbeBeginning {
  readonly now: number;
  readonly containerStartedAtMs: number;
  readonly kubeletStartedAtMs: number;
  /** Whether the container's startup is over, or it has no startup probe. */
  readonly started: boolean;
  /** Whether the container was ready before this kubelet came to know it. */
  readonly ready: boolean;
  /** Of the startup probe, before this kubelet came to know the container. */
  readonly failures: number;
  /** From 0 to below 1. */
  readonly random: number;
}

const noStreak: Streak = { result: "failure", length: 0 };
/** Looks come with every change of a pod: they bring no more probes than one in this time. */
const lookGapMs = 1_000;
/** A timer of Node that is set to more ends at once. */
const longestTimeoutMs = 2 ** 31 - 1;

export function planProbe(kind: ProbeKind, probe: Probe): ProbePlan {
  return {
    kind,
    initialDelayMs: 1_000 * (probe.initialDelaySeconds ?? 0),
    periodMs: 1_000 * (probe.periodSeconds || 10),
    timeoutMs: Math.min(1_000 * (probe.timeoutSeconds || 1), longestTimeoutMs),
    successThreshold: probe.successThreshold || 1,
    failureThreshold: probe.failureThreshold || 3,
  };
}

/** Where a probe stands when its container is first seen running. */
export function beginProbe(plan: ProbePlan, facts: ProbeBeginning): ProbeState {
  const { now, started } = facts;
  const notBeforeMs = facts.containerStartedAtMs + plan.initialDelayMs;
  const atMs = Math.max(notBeforeMs, now + jitterMs(plan, facts));
  switch (plan.kind) {
    case "startup":
      return started
        ? { kind: "held", answer: "success", streak: noStreak }
        : beginAt(atMs, { answer: "unknown", now, streak: { result: "failure", length: facts.failures } });
    case "liveness":
      return started
        ? beginAt(atMs, { answer: "success", now })
        : { kind: "waiting", answer: "success", notBeforeMs };
    case "readiness":
      return started
        ? beginAt(atMs, { answer: facts.ready ? "success" : "failure", now })
        : { kind: "waiting", answer: "failure", notBeforeMs };
  }
}

/** A kubelet that finds its node full of running containers must not probe them all in the same moment. */
function jitterMs({ periodMs }: ProbePlan, facts: ProbeBeginning): number {
  const { now, kubeletStartedAtMs, containerStartedAtMs, random } = facts;
  const restarted = containerStartedAtMs < kubeletStartedAtMs && now - kubeletStartedAtMs < periodMs;
  return restarted ? random * periodMs : 0;
}

/** What an input does to a probe. A state that is returned unchanged is the same object. */
export function decideProbe(
  plan: ProbePlan,
  state: ProbeState,
  { input, now }: { readonly input: ProbeInput; readonly now: number },
): ProbeDecision {
  switch (input.kind) {
    case "tick":
      return { state: state.kind === "due" ? probeNow(state, now) : state };
    case "started":
      if (state.kind !== "waiting") return { state };
      return { state: beginAt(state.notBeforeMs, { answer: state.answer, now }) };
    case "look":
      return { state: isWorthLook(plan, state, now) ? probeNow(state, now) : state };
    case "stop":
      return { state: plan.kind === "readiness" ? state : stopProbe(plan, state) };
    case "result":
      return state.kind === "probing" ? countResult(plan, state, { result: input.result, now }) : { state };
  }
}

type DueState = Extract<ProbeState, { kind: "due" }>;
type ProbingState = Extract<ProbeState, { kind: "probing" }>;

function beginAt(
  atMs: number,
  { answer, now, streak = noStreak }: { answer: ProbeAnswer; now: number; streak?: Streak },
): ProbeState {
  if (atMs <= now) return { kind: "probing", answer, beganMs: now, streak };
  return { kind: "due", answer, atMs, streak };
}

function probeNow({ answer, streak }: DueState, now: number): ProbingState {
  return { kind: "probing", answer, beganMs: now, streak };
}

function isWorthLook(plan: ProbePlan, state: ProbeState, now: number): state is DueState {
  return (
    plan.kind === "readiness" &&
    state.kind === "due" &&
    state.answer !== "success" &&
    state.lastBeganMs !== undefined &&
    now - state.lastBeganMs >= lookGapMs
  );
}

/** A pod that ends kills its containers itself; one that had not started by then will not. */
function stopProbe({ kind }: ProbePlan, state: ProbeState): ProbeState {
  const streak = "streak" in state ? state.streak : noStreak;
  if (kind === "liveness") return { kind: "held", answer: "success", streak };
  return { kind: "held", answer: state.answer === "success" ? "success" : "unknown", streak };
}

function countResult(
  plan: ProbePlan,
  state: ProbingState,
  { result, now }: { result: ProbeResult; now: number },
): ProbeDecision {
  const { answer, beganMs } = state;
  // One that took longer than its period is followed at once. The upper bound is for a system clock that was set back.
  const atMs = Math.max(now, Math.min(beganMs + plan.periodMs, now + plan.periodMs));
  if (result === "error") {
    return { state: { kind: "due", answer, atMs, streak: state.streak, lastBeganMs: beganMs } };
  }
  const length = state.streak.result === result ? state.streak.length + 1 : 1;
  const streak = { result, length };
  const threshold = result === "success" ? plan.successThreshold : plan.failureThreshold;
  if (length < threshold) return { state: { kind: "due", answer, atMs, streak, lastBeganMs: beganMs } };

  const held = plan.kind === "startup" || (plan.kind === "liveness" && result === "failure");
  return {
    state: held
      ? { kind: "held", answer: result, streak }
      : { kind: "due", answer: result, atMs, streak, lastBeganMs: beganMs },
    change: result === answer ? undefined : changeOf(plan.kind, result),
  };
}

function changeOf(kind: ProbeKind, result: "success" | "failure"): ProbeDecision["change"] {
  if (kind === "readiness") return result === "success" ? "ready" : "unready";
  if (result === "failure") return "kill";
  return kind === "startup" ? "started" : undefined;
}
