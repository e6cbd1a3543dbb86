import { isFinalPhase } from "../../api/pod-phase.ts";
import { type PodReading, resolutionMs } from "./read-pod.ts";
import { type StageName, stages } from "./start-signal.ts";
import { type Step, stageBefore, type Told, type TrackedStart } from "./tracked-start.ts";

export interface StageEnd {
  /** Undefined: it is over, and when it ended first cannot be known. */
  readonly atMs: number | undefined;
  /** It was over by then. */
  readonly latestMs: number;
}

interface Ends {
  readonly reading: PodReading;
  readonly ends: Readonly<Record<StageName, StageEnd | undefined>>;
  readonly sinceMs: number;
}

/** Tells the length of every stage that is over and has not been told, or that it is unknown. */
export function settleStages(state: TrackedStart, facts: Ends): Step {
  const over = findOver(state, facts);
  if (over.size === 0) return { next: state, told: [] };
  const { hasInit, createdMs } = facts.reading;
  const ends: Partial<Record<StageName, number>> = { ...state.ends };
  const told: Told[] = [];
  for (const stage of stages) {
    const end = over.get(stage);
    if (end?.atMs !== undefined) ends[stage] = end.atMs;
    // What ended before the monitor's time is not told.
    if (!end || end.latestMs < facts.sinceMs) continue;
    const before = stageBefore(stage, hasInit);
    const startMs = before ? ends[before] : createdMs;
    if (end.atMs === undefined || startMs === undefined || end.atMs < startMs - resolutionMs) {
      told.push({ kind: "unknown", what: stage });
      continue;
    }
    const seconds = Math.max(0, end.atMs - startMs) / 1_000;
    told.push({ kind: "stage", stage, seconds });
    if (stage === "sandbox") told.push({ kind: "sandbox", first: true, seconds });
  }
  return { next: { ...state, settled: [...state.settled, ...over.keys()], ends }, told };
}

/** The stages that are over now and were not before. None is over before those in front of it: what shows a later one shows them. */
function findOver({ settled }: TrackedStart, { reading, ends }: Ends): ReadonlyMap<StageName, StageEnd> {
  const { hasInit, phase, lastChangeMs } = reading;
  const over: [StageName, StageEnd][] = [];
  // A pod that has done its work has been through everything, though it may never have been seen ready.
  let provenMs = phase === "Succeeded" ? lastChangeMs : undefined;
  for (const stage of stages.toReversed()) {
    if (settled.includes(stage) || (stage === "init" && !hasInit)) continue;
    // The condition of a pod that has ended is false for that reason.
    if (stage === "readiness" && isFinalPhase(phase)) continue;
    const end = ends[stage] ?? (provenMs === undefined ? undefined : { atMs: undefined, latestMs: provenMs });
    if (!end) continue;
    over.unshift([stage, end]);
    provenMs = end.latestMs;
  }
  return new Map(over);
}
