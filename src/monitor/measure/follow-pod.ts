import type { Pod } from "../../api/objects.ts";
import { isFinalPhase } from "../../api/pod-phase.ts";
import { followSandbox } from "./follow-sandbox.ts";
import { type PodReading, readPod, resolutionMs } from "./read-pod.ts";
import { type StageEnd, settleStages } from "./settle-stages.ts";
import { currentStage, type Step, type Told, type TrackedStart, untracked } from "./tracked-start.ts";
import { findUserError } from "./user-error.ts";

export interface Sighting {
  readonly pod: Pod;
  /** Whether every change of the pod since it was seen last, or since its creation, has been seen. */
  readonly unbroken: boolean;
  /** When this monitor looked for the first time: what ended before is not told. */
  readonly sinceMs: number;
}

/** A container that crashes in a loop while nobody watches is not told restart by restart without end. */
const mostRestartsTold = 100;

/** What a pod's new state tells. `previous` is undefined for a pod that is seen for the first time. */
export function followPod(previous: TrackedStart | undefined, sighting: Sighting): Step {
  const reading = readPod(sighting.pod);
  const told: Told[] = [];
  let next = previous ?? untracked;
  const take = (step: Step) => {
    next = step.next;
    told.push(...step.told);
  };
  take(markUserError(next, sighting.pod));
  take(countRestarts(next, reading, previous ? 0 : firstCounted(reading, sighting)));
  next = { ...next, askedMs: earliest(next.askedMs, reading.askedMs) };
  const sandbox = followSandbox(next, { reading, unbroken: sighting.unbroken });
  take(sandbox);
  if (next.outcome === "starting") {
    const ends = { ...endsOf(reading, sighting), sandbox: sandbox.end };
    take(settleStages(next, { reading, ends, sinceMs: sighting.sinceMs }));
    take(endStart(next, reading, sighting));
  }
  return { next, told };
}

function markUserError(state: TrackedStart, pod: Pod): Step {
  if (state.outcome !== "starting" || state.userError !== undefined) return { next: state, told: [] };
  const error = findUserError(pod);
  if (!error) return { next: state, told: [] };
  return {
    next: { ...state, userError: error.message },
    told: [{ kind: "user-error", reason: error.reason }],
  };
}

/** Restarts of a pod from before the monitor's time may be as old as the pod. */
function firstCounted({ createdMs = 0 }: PodReading, { sinceMs }: Sighting): number {
  return createdMs < sinceMs ? Number.POSITIVE_INFINITY : 0;
}

function countRestarts(state: TrackedStart, { restarts }: PodReading, from: number): Step {
  const told: Told[] = [];
  let isNew = false;
  for (const [container, count] of Object.entries(restarts)) {
    const before = state.restarts[container] ?? 0;
    if (count === before) continue;
    isNew = true;
    const more = Math.min(count - Math.max(before, from), mostRestartsTold);
    for (let i = 0; i < more; i++) told.push({ kind: "restart", container });
  }
  return { next: isNew ? { ...state, restarts: { ...state.restarts, ...restarts } } : state, told };
}

/** The ends of the stages whose conditions only ever say when they turned last, and of those that say more. */
function endsOf(
  reading: PodReading,
  { unbroken }: Sighting,
): Record<"scheduling" | "init" | "containers" | "readiness", StageEnd | undefined> {
  const { scheduledMs, initialized, containers, ready, lastChangeMs } = reading;
  const turned = (condition: PodReading["ready"]): StageEnd | undefined => {
    if (!condition) return undefined;
    const latestMs = condition.atMs ?? lastChangeMs;
    if (condition.isTrue) return { atMs: unbroken ? condition.atMs : undefined, latestMs };
    return condition.wasTrue && !unbroken ? { atMs: undefined, latestMs } : undefined;
  };
  return {
    // It never turns back.
    scheduling: scheduledMs === undefined ? undefined : { atMs: scheduledMs, latestMs: scheduledMs },
    init: turned(initialized),
    containers:
      containers.kind === "waiting"
        ? undefined
        : { atMs: containers.atMs, latestMs: containers.atMs ?? lastChangeMs },
    readiness: turned(ready),
  };
}

/** The end of a start, whether good or not. */
function endStart(state: TrackedStart, reading: PodReading, { sinceMs }: Sighting): Step {
  const { createdMs, phase, lastChangeMs } = reading;
  if (state.settled.includes("readiness")) {
    const readyMs = state.ends.readiness;
    const next: TrackedStart = { ...state, outcome: "ready" };
    if ((reading.ready?.atMs ?? lastChangeMs) < sinceMs) return { next, told: [] };
    if (readyMs === undefined || createdMs === undefined || readyMs < createdMs - resolutionMs)
      return { next, told: [{ kind: "unknown", what: "ready" }] };
    return { next, told: [{ kind: "ready", seconds: Math.max(0, readyMs - createdMs) / 1_000 }] };
  }
  const next: TrackedStart = { ...state, outcome: "ended" };
  if (phase === "Succeeded") {
    // It has done its work, and was ready for less time than it takes to say so.
    return { next, told: lastChangeMs < sinceMs ? [] : [{ kind: "unknown", what: "ready" }] };
  }
  const endedMs = state.askedMs ?? (isFinalPhase(phase) ? lastChangeMs : undefined);
  if (endedMs === undefined) return { next: state, told: [] };
  const stage = currentStage(state, reading.hasInit);
  return { next, told: endedMs < sinceMs ? [] : [{ kind: "abandoned", stage }] };
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}
