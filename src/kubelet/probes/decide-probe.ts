// Clauses: 950-2, 950-5, 950-1, 950-3, 950-4
import type { Container, Pod, Probe } from "../../api/meta/objects.ts";
import type { CombinedProbeResult } from "../model/observed-pod.ts";

export type ProbeKind = "startup" | "liveness" | "readiness";

/** Parameters of a probe, with the API's defaults applied. */
export interface ProbePlan {
  readonly kind: ProbeKind;
  readonly initialDelayMs: number;
  readonly periodMs: number;
  readonly timeoutMs: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

/** Result of one probe run. A timeout is a failure. An error means that the probe could not run, and is not counted. */
export type ProbeResult = "success" | "failure" | "error";

/**
 * State of one probe of a container. `answer` is its current result: initially `unknown` for a startup probe, `success`
 * for liveness and `failure` for readiness.
 *
 *   waiting --container started--> due --time reached--> probing
 *                                   ^                       |
 *                                   +-------- result -------+--startup decided, liveness failed--> held
 *
 * A held probe does not run again. A restart creates a new container with its own probes.
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

/** Number of equal consecutive results. */
interface Streak {
  readonly result: "success" | "failure";
  readonly length: number;
}

export type ProbeInput =
  /** The due time was reached. */
  | { readonly kind: "tick" }
  | { readonly kind: "result"; readonly result: ProbeResult }
  /** The startup probe succeeded: liveness and readiness probes start. */
  | { readonly kind: "started" }
  /** The pod was synced. A readiness probe that has not succeeded runs early. */
  | { readonly kind: "sync" }
  /** The pod terminates. */
  | { readonly kind: "stop" };

export interface ProbeDecision {
  /** New state. The next probe runs at `atMs` if due, now if probing, otherwise after another input. */
  readonly state: ProbeState;
  readonly change?: "started" | "ready" | "unready" | "kill";
}

export interface InitialFacts {
  readonly now: number;
  readonly containerStartedAtMs: number;
  readonly kubeletStartedAtMs: number;
  /** True if the startup probe has succeeded or there is none. */
  readonly started: boolean;
  /** True if the container was ready before the kubelet restarted. */
  readonly ready: boolean;
  /** Failures of the startup probe before the kubelet restarted. */
  readonly failures: number;
  /** Random number in [0, 1). */
  readonly random: number;
}

const noStreak: Streak = { result: "failure", length: 0 };
/** Minimum time between probes that syncs trigger, because every change of a pod syncs it. */
const minSyncGapMs = 1_000;
/** Maximum of Node's timers. Longer timeouts would fire immediately. */
const maxTimeoutMs = 2 ** 31 - 1;

export function planProbe(kind: ProbeKind, probe: Probe): ProbePlan {
  return {
    kind,
    initialDelayMs: 1_000 * (probe.initialDelaySeconds ?? 0),
    periodMs: 1_000 * (probe.periodSeconds || 10),
    timeoutMs: Math.min(1_000 * (probe.timeoutSeconds || 1), maxTimeoutMs),
    successThreshold: probe.successThreshold || 1,
    failureThreshold: probe.failureThreshold || 3,
  };
}

/** Returns the initial state of a probe when its container is first observed running. */
export function beginProbe(plan: ProbePlan, facts: InitialFacts): ProbeState {
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

/** Spreads the first probes of running containers after a restart of the kubelet. */
function jitterMs({ periodMs }: ProbePlan, facts: InitialFacts): number {
  const { now, kubeletStartedAtMs, containerStartedAtMs, random } = facts;
  const restarted = containerStartedAtMs < kubeletStartedAtMs && now - kubeletStartedAtMs < periodMs;
  return restarted ? random * periodMs : 0;
}

/** Returns the next state of a probe. If nothing changes, the same object is returned. */
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
    case "sync":
      return { state: shouldProbeOnSync(plan, state, now) ? probeNow(state, now) : state };
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

function shouldProbeOnSync(plan: ProbePlan, state: ProbeState, now: number): state is DueState {
  return (
    plan.kind === "readiness" &&
    state.kind === "due" &&
    state.answer !== "success" &&
    state.lastBeganMs !== undefined &&
    now - state.lastBeganMs >= minSyncGapMs
  );
}

/** Stops a probe of a terminating pod. A pending kill is dropped, and a container that has not started stays unstarted. */
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
  // A probe that took longer than its period is followed immediately. The upper bound handles a clock that was set back.
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

export interface ProbedContainer {
  readonly container: Container;
  readonly role: ContainerRole;
}

/** Role of a container. A sidecar is an init container with restart policy Always; it is probed like main containers. */
export type ContainerRole = "main" | "sidecar" | "init";

/** Results of the probes of a container. Undefined if it has no probe of that kind. */
export interface ProbeAnswers {
  readonly startup?: ProbeAnswer;
  readonly liveness?: ProbeAnswer;
  readonly readiness?: ProbeAnswer;
}

/** Combines the probe results of a running container. */
export function combineProbeResults(
  pod: Pod,
  subject: ProbedContainer,
  answers: ProbeAnswers,
): CombinedProbeResult {
  const { startup = "success", liveness = "success", readiness = "success" } = answers;
  const started = startup === "success";
  const ready = started && readiness === "success" && subject.role !== "init";
  if (liveness === "failure") return { started, ready, kill: decideKill(pod, subject, "liveness") };
  if (startup === "failure") return { started, ready, kill: decideKill(pod, subject, "startup") };
  return { started, ready };
}

function decideKill(
  pod: Pod,
  { container, role }: ProbedContainer,
  probe: "startup" | "liveness",
): CombinedProbeResult["kill"] {
  const spec = probe === "startup" ? container.startupProbe : container.livenessProbe;
  const gracePeriodSeconds = spec?.terminationGracePeriodSeconds;
  // Upstream's text for sidecars does not mention the restart, although there always is one.
  if (role !== "main") {
    return { probe, message: `Init container ${container.name} failed ${probe} probe`, gracePeriodSeconds };
  }
  const restarts = (container.restartPolicy ?? pod.spec?.restartPolicy) !== "Never";
  const message = `Container ${container.name} failed ${probe} probe${restarts ? ", will be restarted" : ""}`;
  return { probe, message, gracePeriodSeconds };
}
