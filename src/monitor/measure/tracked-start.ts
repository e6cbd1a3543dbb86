import type { Pod } from "../../api/meta/objects.ts";
import { hasInit } from "./read-pod.ts";
import {
  type PodClass,
  type PodRef,
  type PodStart,
  type StageName,
  type StartSignal,
  stages,
} from "./start-signal.ts";

/**
 * State of a pod's start that its object does not contain: emitted signals and first times. It is stored across restarts
 * of the monitor.
 *
 *     starting ──▶ ready          reached Ready
 *         └──────▶ ended          deleted, failed or completed before it was observed as Ready
 */
export interface TrackedStart {
  /** Stages that have ended and need no further signal. */
  readonly settled: readonly StageName[];
  readonly ends: Readonly<Partial<Record<StageName, number>>>;
  readonly sandbox: SandboxState;
  readonly outcome: "starting" | "ready" | "ended";
  /** Last observed restart count by container. */
  readonly restarts: Readonly<Record<string, number>>;
  /** Stages for which a stuck signal was emitted. */
  readonly stuck: readonly StageName[];
  readonly pulls: readonly TrackedPull[];
  readonly userError: string | undefined;
  /** Time of the deletion request. */
  readonly deletionRequestedMs: number | undefined;
  readonly gates: GateState;
  /** Whether a container was in CrashLoopBackOff after the pod had been Ready. */
  readonly crashLooped: boolean;
}

/**
 * Scheduling gates: the time until the last one is removed is not part of the start. `atMs` is the time at which the
 * monitor observed the removal; `missed` means that it may have happened earlier, during a gap.
 */
export type GateState =
  | { readonly kind: "none" }
  | { readonly kind: "held" }
  | { readonly kind: "released"; readonly atMs: number; readonly missed: boolean };

/** State of the sandbox; `none` if it never was ready. Times are those of the condition. */
export type SandboxState =
  | { readonly kind: "none" }
  | { readonly kind: "ready"; readonly sinceMs: number }
  | { readonly kind: "lost"; readonly sinceMs: number };

export interface TrackedPull {
  /** Id of the event, so that no pull is reported twice. */
  readonly event: string;
  readonly image: string;
  readonly seconds: number;
  readonly bytes: number | undefined;
  readonly endedMs: number;
}

/** Signal without the start that it belongs to. */
export type PendingSignal = StartSignal extends infer Signal
  ? Signal extends StartSignal
    ? Omit<Signal, "start">
    : never
  : never;

/** End of a stage. */
export interface StageEnd {
  /** First end of the stage. Undefined if it cannot be known. */
  readonly atMs: number | undefined;
  /** Time by which the stage had ended. */
  readonly latestMs: number;
}

/** Result of applying one observation. */
export interface Step {
  readonly next: TrackedStart;
  readonly signals: readonly PendingSignal[];
}

export const untracked: TrackedStart = {
  settled: [],
  ends: {},
  sandbox: { kind: "none" },
  outcome: "starting",
  restarts: {},
  stuck: [],
  pulls: [],
  userError: undefined,
  deletionRequestedMs: undefined,
  gates: { kind: "none" },
  crashLooped: false,
};

/** Latest possible beginning of the start: creation, or removal of the last gate. Undefined while gates exist. */
function beganMs({ gates }: TrackedStart, createdMs: number | undefined): number | undefined {
  if (gates.kind === "none") return createdMs;
  return gates.kind === "released" ? gates.atMs : undefined;
}

/** First stage that has not ended. */
export function currentStage({ settled }: TrackedStart, hasInit: boolean): StageName {
  const open = stages.find((stage) => !settled.includes(stage) && (hasInit || stage !== "init"));
  return open ?? "readiness";
}

/** Previous stage among those that the pod has. */
export function stageBefore(stage: StageName, hasInit: boolean): StageName | undefined {
  const before = stages[stages.indexOf(stage) - 1];
  return before === "init" && !hasInit ? "sandbox" : before;
}

/** Beginning of the start. Undefined if it is not exactly known. */
export function exactStart(state: TrackedStart, createdMs: number | undefined): number | undefined {
  return state.gates.kind === "released" && state.gates.missed ? undefined : beganMs(state, createdMs);
}

export function toPodStart(
  state: TrackedStart,
  about: { readonly pod: PodRef; readonly class: PodClass; readonly createdMs: number },
): PodStart {
  const { ends, pulls, restarts, userError } = state;
  return {
    ...about,
    beganMs: beganMs(state, about.createdMs),
    ends,
    pulls: pulls.map(({ event: _, ...pull }) => pull),
    restarts: Object.values(restarts).reduce((sum, count) => sum + count, 0),
    userError,
  };
}

export interface StuckFacts {
  readonly pod: Pod;
  /** Time at which the pod is known to have been in this state. */
  readonly asOfMs: number;
  /** Time at which the monitor first observed the pod in this stage. */
  readonly seenMs: number;
  readonly stuckAfterMs: number;
  /** Part of a period that is not counted: see `Availability`. */
  unavailableMs(fromMs: number, untilMs: number): number;
}

/** Emits a signal once per stage when a starting pod stays in it longer than allowed. */
export function findStuck(state: TrackedStart, facts: StuckFacts): Step {
  if (state.outcome !== "starting" || !isStuck(state, facts)) return { next: state, signals: [] };
  const stage = currentStage(state, hasInit(facts.pod));
  return state.stuck.includes(stage)
    ? { next: state, signals: [] }
    : { next: { ...state, stuck: [...state.stuck, stage] }, signals: [{ kind: "stuck", stage }] };
}

function isStuck(
  state: TrackedStart,
  { pod, asOfMs, seenMs, stuckAfterMs, unavailableMs }: StuckFacts,
): boolean {
  if (state.gates.kind === "held") return false;
  const before = stageBefore(currentStage(state, hasInit(pod)), hasInit(pod));
  const createdMs = Date.parse(pod.metadata.creationTimestamp ?? "");
  const fromMs = (before ? state.ends[before] : beganMs(state, createdMs)) ?? seenMs;
  return asOfMs - fromMs - unavailableMs(fromMs, asOfMs) > stuckAfterMs;
}
