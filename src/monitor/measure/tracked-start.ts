import type { PodClass, PodRef, PodStart, StageName, StartSignal } from "./start-signal.ts";
import { stages } from "./start-signal.ts";

/**
 * What the monitor knows of one pod's start beyond what the pod itself says now: what has been told, and when things
 * were so for the first time. All of it survives a restart of the monitor.
 *
 *     starting ──▶ ready          came to Ready
 *         └──────▶ ended          deleted, failed or completed before anybody saw it Ready
 */
export interface TrackedStart {
  /** Stages that are over: their length was told, or that it is unknown, or they ended before the monitor's time. */
  readonly settled: readonly StageName[];
  readonly ends: Readonly<Partial<Record<StageName, number>>>;
  readonly sandbox: SandboxState;
  readonly outcome: "starting" | "ready" | "ended";
  /** By container, as last seen. */
  readonly restarts: Readonly<Record<string, number>>;
  /** Stages of which it was told that the pod is stuck there. */
  readonly stuck: readonly StageName[];
  readonly pulls: readonly TrackedPull[];
  readonly userError: string | undefined;
  /** When its deletion was asked for. */
  readonly askedMs: number | undefined;
}

/** `none`: it never was ready. Times are those of the condition. */
export type SandboxState =
  | { readonly kind: "none" }
  | { readonly kind: "ready"; readonly sinceMs: number }
  | { readonly kind: "lost"; readonly sinceMs: number };

export interface TrackedPull {
  /** Which event told of it, so that none is told again. */
  readonly event: string;
  readonly image: string;
  readonly seconds: number;
  readonly bytes: number | undefined;
  readonly endedMs: number;
}

/** A signal before the start it belongs to is attached. */
export type Told = StartSignal extends infer Signal
  ? Signal extends StartSignal
    ? Omit<Signal, "start">
    : never
  : never;

/** What one observation leads to. */
export interface Step {
  readonly next: TrackedStart;
  readonly told: readonly Told[];
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
  askedMs: undefined,
};

/** The first stage that is not over. */
export function currentStage({ settled }: TrackedStart, hasInit: boolean): StageName {
  const open = stages.find((stage) => !settled.includes(stage) && (hasInit || stage !== "init"));
  return open ?? "readiness";
}

/** The stage before, among those that the pod has. */
export function stageBefore(stage: StageName, hasInit: boolean): StageName | undefined {
  const before = stages[stages.indexOf(stage) - 1];
  return before === "init" && !hasInit ? "sandbox" : before;
}

export function toPodStart(
  { ends, pulls, restarts, userError }: TrackedStart,
  about: { readonly pod: PodRef; readonly class: PodClass; readonly createdMs: number },
): PodStart {
  return {
    ...about,
    ends,
    pulls: pulls.map(({ event: _, ...pull }) => pull),
    restarts: Object.values(restarts).reduce((sum, count) => sum + count, 0),
    userError,
  };
}
