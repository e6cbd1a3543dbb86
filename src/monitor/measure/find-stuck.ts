import type { Pod } from "../../api/objects.ts";
import { hasInit } from "./read-pod.ts";
import { currentStage, type Step, stageBefore, type TrackedStart } from "./tracked-start.ts";

export interface StuckFacts {
  readonly pod: Pod;
  readonly now: number;
  /** When the monitor saw it in this stage, or saw it at all: it has been there since then at least. */
  readonly seenMs: number;
  readonly stuckAfterMs: number;
}

/** Whether a pod that starts is longer in its stage than it may; told once for each stage. */
export function findStuck(state: TrackedStart, facts: StuckFacts): Step {
  if (state.outcome !== "starting" || !isStuck(state, facts)) return { next: state, told: [] };
  const stage = currentStage(state, hasInit(facts.pod));
  return state.stuck.includes(stage)
    ? { next: state, told: [] }
    : { next: { ...state, stuck: [...state.stuck, stage] }, told: [{ kind: "stuck", stage }] };
}

export function isStuck(state: TrackedStart, { pod, now, seenMs, stuckAfterMs }: StuckFacts): boolean {
  // Whoever holds it back on purpose will let it go.
  if ((pod.spec?.schedulingGates ?? []).length > 0) return false;
  const before = stageBefore(currentStage(state, hasInit(pod)), hasInit(pod));
  const createdMs = Date.parse(pod.metadata.creationTimestamp ?? "");
  const beganMs = before ? state.ends[before] : createdMs;
  return now - (beganMs ?? seenMs) > stuckAfterMs;
}
