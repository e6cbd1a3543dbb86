import { type PodReading, resolutionMs } from "./read-pod.ts";
import type { StageEnd } from "./settle-stages.ts";
import type { SandboxState, Step, Told, TrackedStart } from "./tracked-start.ts";

interface SandboxSighting {
  readonly reading: PodReading;
  /** Whether everything since the last sighting has been seen. */
  readonly unbroken: boolean;
}

interface SandboxStep extends Step {
  /** Of the stage `sandbox`, when a first sandbox stood or must have stood. */
  readonly end: StageEnd | undefined;
}

/**
 * Follows the condition PodReadyToStartContainers and tells the first sandbox from those after it.
 *
 *     none ──True──▶ ready ──False──▶ lost
 *                      ▲───True (again)──┘
 *
 * The condition says only when it turned last. Over a gap in what was seen it may have turned more often, so that
 * neither the first time nor the length of a re-creation is known.
 */
export function followSandbox(state: TrackedStart, sighting: SandboxSighting): SandboxStep {
  const { reading, unbroken } = sighting;
  const { isTrue, wasTrue, atMs } = reading.sandbox ?? {};
  if (isTrue === undefined || wasTrue === undefined || atMs === undefined)
    return { next: state, told: [], end: undefined };
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
    return { next, told: [], end: { atMs: unbroken ? atMs : undefined, latestMs: atMs } };
  }
  if (!wasTrue || unbroken) return { next: state, told: [], end: undefined };
  return {
    next: to(state, { kind: "lost", sinceMs: atMs }),
    told: [],
    end: { atMs: undefined, latestMs: atMs },
  };
}

/** Still ready, or ready again and the loss in between was not seen. */
function replaced(state: TrackedStart, { sinceMs }: { readonly sinceMs: number }, { atMs }: Seen): Step {
  if (atMs === sinceMs) return { next: state, told: [] };
  return {
    next: to(state, { kind: "ready", sinceMs: atMs }),
    told: [{ kind: "unknown", what: "recreation" }],
  };
}

function lost(state: TrackedStart, { atMs }: Seen): Step {
  const next = to(state, { kind: "lost", sinceMs: atMs });
  const { askedMs } = state;
  // The sandbox of a pod that is done may go long before the pod is deleted.
  if (askedMs === undefined || atMs < askedMs - resolutionMs) return { next, told: [] };
  return { next, told: [{ kind: "terminated", seconds: Math.max(0, atMs - askedMs) / 1_000 }] };
}

function again(
  state: TrackedStart,
  { sinceMs }: { readonly sinceMs: number },
  { isTrue, unbroken, atMs }: Seen,
): Step {
  if (!isTrue) {
    if (atMs === sinceMs) return { next: state, told: [] };
    // It stood in between.
    return {
      next: to(state, { kind: "lost", sinceMs: atMs }),
      told: [{ kind: "unknown", what: "recreation" }],
    };
  }
  const told: Told =
    unbroken && atMs >= sinceMs
      ? { kind: "sandbox", first: false, seconds: (atMs - sinceMs) / 1_000 }
      : { kind: "unknown", what: "recreation" };
  return { next: to(state, { kind: "ready", sinceMs: atMs }), told: [told] };
}

function to(state: TrackedStart, sandbox: SandboxState): TrackedStart {
  return { ...state, sandbox };
}
