// Clauses: 3085-12
import { type PodReading, resolutionMs } from "./read-pod.ts";
import type { PendingSignal, SandboxState, StageEnd, Step, TrackedStart } from "./tracked-start.ts";

interface SandboxObservation {
  readonly reading: PodReading;
  /** Whether every change since the last observation was observed. */
  readonly unbroken: boolean;
}

interface SandboxStep extends Step {
  /** End of the stage `sandbox`, if the first sandbox was ready. */
  readonly end: StageEnd | undefined;
}

/**
 * Applies the condition PodReadyToStartContainers and distinguishes the first sandbox from later ones.
 *
 *     none ──True──▶ ready ──False──▶ lost
 *                      ▲───True (again)──┘
 *
 * The condition only has its last transition time. During a gap it may have changed more often, so neither the first
 * time nor the duration of a re-creation is known.
 */
export function applySandbox(state: TrackedStart, observation: SandboxObservation): SandboxStep {
  const { reading, unbroken } = observation;
  const { isTrue, wasTrue, atMs } = reading.sandbox ?? {};
  if (isTrue === undefined || wasTrue === undefined || atMs === undefined)
    return { next: state, signals: [], end: undefined };
  const seen: Seen = { isTrue, wasTrue, atMs, unbroken };
  switch (state.sandbox.kind) {
    case "none":
      return first(state, seen);
    case "ready":
      return { ...(seen.isTrue ? replaced(state, state.sandbox, seen) : lost(state, seen)), end: undefined };
    case "lost":
      return { ...again(state, state.sandbox, seen), end: undefined };
  }
}

interface Seen {
  readonly unbroken: boolean;
  readonly isTrue: boolean;
  readonly wasTrue: boolean;
  readonly atMs: number;
}

function first(state: TrackedStart, { isTrue, wasTrue, unbroken, atMs }: Seen): SandboxStep {
  if (isTrue) {
    const next = to(state, { kind: "ready", sinceMs: atMs });
    return { next, signals: [], end: { atMs: unbroken ? atMs : undefined, latestMs: atMs } };
  }
  if (!wasTrue || unbroken) return { next: state, signals: [], end: undefined };
  return {
    next: to(state, { kind: "lost", sinceMs: atMs }),
    signals: [],
    end: { atMs: undefined, latestMs: atMs },
  };
}

/** Still ready, or ready again after a loss that was not observed. */
function replaced(state: TrackedStart, { sinceMs }: { readonly sinceMs: number }, { atMs }: Seen): Step {
  if (atMs === sinceMs) return { next: state, signals: [] };
  return {
    next: to(state, { kind: "ready", sinceMs: atMs }),
    signals: [{ kind: "unknown", what: "recreation" }],
  };
}

function lost(state: TrackedStart, { atMs }: Seen): Step {
  const next = to(state, { kind: "lost", sinceMs: atMs });
  const { deletionRequestedMs } = state;
  // A completed pod can lose its sandbox long before it is deleted.
  if (deletionRequestedMs === undefined || atMs < deletionRequestedMs - resolutionMs)
    return { next, signals: [] };
  return {
    next,
    signals: [
      { kind: "terminated", seconds: Math.max(0, atMs - deletionRequestedMs) / 1_000, endedMs: atMs },
    ],
  };
}

function again(
  state: TrackedStart,
  { sinceMs }: { readonly sinceMs: number },
  { isTrue, unbroken, atMs }: Seen,
): Step {
  if (!isTrue) {
    if (atMs === sinceMs) return { next: state, signals: [] };
    // A sandbox was ready in between.
    return {
      next: to(state, { kind: "lost", sinceMs: atMs }),
      signals: [{ kind: "unknown", what: "recreation" }],
    };
  }
  const signal: PendingSignal =
    unbroken && atMs >= sinceMs
      ? { kind: "sandbox", first: false, seconds: (atMs - sinceMs) / 1_000, endedMs: atMs }
      : { kind: "unknown", what: "recreation" };
  return { next: to(state, { kind: "ready", sinceMs: atMs }), signals: [signal] };
}

function to(state: TrackedStart, sandbox: SandboxState): TrackedStart {
  return { ...state, sandbox };
}
