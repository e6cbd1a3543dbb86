// Clauses: 3085-12, 3085-16
import type { Pod } from "../../api/meta/objects.ts";
import { hasEnded, isFinalPhase } from "../../api/pod/pod-state.ts";
import { applySandbox } from "./apply-sandbox.ts";
import { findUserError, hasInit, type PodReading, readPod, resolutionMs } from "./read-pod.ts";
import { type StageName, stages } from "./start-signal.ts";
import {
  currentStage,
  exactStart,
  type GateState,
  type PendingSignal,
  type StageEnd,
  type Step,
  stageBefore,
  type TrackedStart,
  untracked,
} from "./tracked-start.ts";

export interface Observation {
  readonly pod: Pod;
  /** Whether every change of the pod since it was seen last, or since its creation, has been seen. */
  readonly unbroken: boolean;
  /** Time of the observation by the cluster's clock. */
  readonly nowMs: number;
  /** First start of the monitor. Nothing that ended before it is reported. */
  readonly sinceMs: number;
}

/** Maximum number of restart signals from one observation, for containers that crashed during a gap. */
const maxRestartSignals = 100;

/** Applies a new state of a pod. `previous` is undefined for the first observation. */
export function applyPod(previous: TrackedStart | undefined, observation: Observation): Step {
  const reading = readPod(observation.pod);
  const signals: PendingSignal[] = [];
  let next = previous ?? untracked;
  const take = (step: Step) => {
    next = step.next;
    signals.push(...step.signals);
  };
  take(markUserError(next, observation.pod));
  take(countRestarts(next, reading, previous ? 0 : firstCounted(reading, observation)));
  next = {
    ...next,
    deletionRequestedMs: earliest(next.deletionRequestedMs, reading.deletionRequestedMs),
    gates: applyGates(next.gates, reading, observation),
  };
  const sandbox = applySandbox(next, { reading, unbroken: observation.unbroken });
  take(sandbox);
  if (next.outcome === "starting") {
    const ends = { ...endsOf(reading, observation), sandbox: sandbox.end };
    take(settleStages(next, { reading, ends, sinceMs: observation.sinceMs }));
    take(endStart(next, reading, observation));
  }
  take(findCrashLoop(next, reading));
  return { next, signals };
}

function markUserError(state: TrackedStart, pod: Pod): Step {
  if (state.outcome !== "starting" || state.userError !== undefined) return { next: state, signals: [] };
  const error = findUserError(pod);
  if (!error) return { next: state, signals: [] };
  return {
    next: { ...state, userError: error.message },
    signals: [{ kind: "user-error", reason: error.reason }],
  };
}

function applyGates(gates: GateState, { isGated }: PodReading, { nowMs, unbroken }: Observation): GateState {
  if (isGated) return { kind: "held" };
  if (gates.kind !== "held") return gates;
  // Truncated to whole seconds like the times that it is compared with.
  return { kind: "released", atMs: Math.floor(nowMs / 1_000) * 1_000, missed: !unbroken };
}

function findCrashLoop(state: TrackedStart, { crashLooping: container }: PodReading): Step {
  if (state.outcome !== "ready" || state.crashLooped || container === undefined)
    return { next: state, signals: [] };
  return { next: { ...state, crashLooped: true }, signals: [{ kind: "crash-loop", container }] };
}

/** Restarts of pods older than the monitor are not counted on the first observation. */
function firstCounted({ createdMs = 0 }: PodReading, { sinceMs }: Observation): number {
  return createdMs < sinceMs ? Number.POSITIVE_INFINITY : 0;
}

function countRestarts(state: TrackedStart, { restarts }: PodReading, from: number): Step {
  const signals: PendingSignal[] = [];
  let isNew = false;
  for (const [container, count] of Object.entries(restarts)) {
    const before = state.restarts[container] ?? 0;
    if (count === before) continue;
    isNew = true;
    const more = Math.min(count - Math.max(before, from), maxRestartSignals);
    for (let i = 0; i < more; i++) signals.push({ kind: "restart", container });
  }
  return { next: isNew ? { ...state, restarts: { ...state.restarts, ...restarts } } : state, signals };
}

/** Ends of the stages, as far as conditions and container statuses show them. */
function endsOf(
  reading: PodReading,
  { unbroken }: Observation,
): Record<"scheduling" | "init" | "containers" | "readiness", StageEnd | undefined> {
  const { scheduledMs, initialized, containers, ready, lastChangeMs } = reading;
  const turned = (condition: PodReading["ready"]): StageEnd | undefined => {
    if (!condition) return undefined;
    const latestMs = condition.atMs ?? lastChangeMs;
    if (condition.isTrue) return { atMs: unbroken ? condition.atMs : undefined, latestMs };
    return condition.wasTrue && !unbroken ? { atMs: undefined, latestMs } : undefined;
  };
  return {
    // The condition never becomes false again.
    scheduling: scheduledMs === undefined ? undefined : { atMs: scheduledMs, latestMs: scheduledMs },
    init: turned(initialized),
    containers:
      containers.kind === "waiting"
        ? undefined
        : { atMs: containers.atMs, latestMs: containers.atMs ?? lastChangeMs },
    readiness: turned(ready),
  };
}

/** Ends the start on Ready, completion, failure or deletion. */
function endStart(state: TrackedStart, reading: PodReading, { sinceMs }: Observation): Step {
  const { createdMs, phase, lastChangeMs } = reading;
  if (state.settled.includes("readiness")) {
    const readyMs = state.ends.readiness;
    const next: TrackedStart = { ...state, outcome: "ready" };
    if ((reading.ready?.atMs ?? lastChangeMs) < sinceMs) return { next, signals: [] };
    const fromMs = exactStart(state, createdMs);
    if (readyMs === undefined || fromMs === undefined || readyMs < fromMs - resolutionMs)
      return { next, signals: [{ kind: "unknown", what: "ready" }] };
    const seconds = Math.max(0, readyMs - fromMs) / 1_000;
    return { next, signals: [{ kind: "ready", seconds, endedMs: readyMs }] };
  }
  const next: TrackedStart = { ...state, outcome: "ended" };
  if (phase === "Succeeded") {
    // The pod completed before its readiness was reported.
    return { next, signals: lastChangeMs < sinceMs ? [] : [{ kind: "unknown", what: "ready" }] };
  }
  const endedMs = state.deletionRequestedMs ?? (isFinalPhase(phase) ? lastChangeMs : undefined);
  if (endedMs === undefined) return { next: state, signals: [] };
  const stage = currentStage(state, reading.hasInit);
  return { next, signals: endedMs < sinceMs ? [] : [{ kind: "abandoned", stage }] };
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}

interface Gone {
  readonly pod: Pod;
  /** Whether every change until the deletion was observed. */
  readonly unbroken: boolean;
}

/** Returns the signals for a pod that no longer exists. */
export function applyDeletion(state: TrackedStart, { pod, unbroken }: Gone): readonly PendingSignal[] {
  const signals: PendingSignal[] = [];
  if (state.outcome === "starting") {
    const stage = currentStage(state, hasInit(pod));
    // During a gap the pod may have become ready before its deletion.
    signals.push(unbroken ? { kind: "abandoned", stage } : { kind: "unknown", what: "ready" });
  }
  // The end of the sandbox was not reported. Completed pods lose their sandbox independently of the deletion.
  if (state.sandbox.kind === "ready" && !hasEnded(pod))
    signals.push({ kind: "unknown", what: "termination" });
  return signals;
}

interface Ends {
  readonly reading: PodReading;
  readonly ends: Readonly<Record<StageName, StageEnd | undefined>>;
  readonly sinceMs: number;
}

/** Emits the duration of every stage that has ended, or that it is unknown. */
function settleStages(state: TrackedStart, facts: Ends): Step {
  const over = findOver(state, facts);
  if (over.size === 0) return { next: state, signals: [] };
  const { hasInit, createdMs } = facts.reading;
  const ends: Partial<Record<StageName, number>> = { ...state.ends };
  const signals: PendingSignal[] = [];
  for (const stage of stages) {
    const end = over.get(stage);
    if (end?.atMs !== undefined) ends[stage] = end.atMs;
    // Stages that ended before the monitor started are not reported.
    if (!end || end.latestMs < facts.sinceMs) continue;
    const before = stageBefore(stage, hasInit);
    const startMs = before ? ends[before] : exactStart(state, createdMs);
    if (end.atMs === undefined || startMs === undefined || end.atMs < startMs - resolutionMs) {
      signals.push({ kind: "unknown", what: stage });
      continue;
    }
    const seconds = Math.max(0, end.atMs - startMs) / 1_000;
    const length = { seconds, endedMs: end.atMs };
    signals.push({ kind: "stage", stage, ...length });
    if (stage === "sandbox") signals.push({ kind: "sandbox", first: true, ...length });
  }
  return { next: { ...state, settled: [...state.settled, ...over.keys()], ends }, signals };
}

/** Stages that have ended since the last observation. The end of a stage implies the end of those before it. */
function findOver({ settled }: TrackedStart, { reading, ends }: Ends): ReadonlyMap<StageName, StageEnd> {
  const { hasInit, phase, lastChangeMs } = reading;
  const over: [StageName, StageEnd][] = [];
  // A completed pod has passed all stages, even if it was never observed as ready.
  let provenMs = phase === "Succeeded" ? lastChangeMs : undefined;
  for (const stage of stages.toReversed()) {
    if (settled.includes(stage) || (stage === "init" && !hasInit)) continue;
    // The condition of a terminated pod is always false.
    if (stage === "readiness" && isFinalPhase(phase)) continue;
    const end = ends[stage] ?? (provenMs === undefined ? undefined : { atMs: undefined, latestMs: provenMs });
    if (!end) continue;
    over.unshift([stage, end]);
    provenMs = end.latestMs;
  }
  return new Map(over);
}
