import { goUnitsMs, parseGoDuration } from "../../lib/go-duration.ts";
import type { StageName } from "../measure/start-signal.ts";

const unitsMs: Readonly<Record<string, number>> = { ...goUnitsMs, d: 86_400_000, w: 604_800_000 };

/** Parses `500ms`, `1m30s` or `28d` to milliseconds. Undefined if the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  const ms = parseGoDuration(text, unitsMs);
  return ms !== undefined && ms >= 0 ? ms : undefined;
}

/** Formats milliseconds exactly, in the largest units: `1m30s`. */
export function formatDuration(ms: number): string {
  let left = ms;
  let text = "";
  for (const unit of ["d", "h", "m", "s", "ms"]) {
    const size = unitsMs[unit] ?? 1;
    const whole = unit === "ms" ? left : Math.floor(left / size);
    if (whole > 0) text += `${whole}${unit}`;
    left -= whole * size;
  }
  return text || "0s";
}

/** Duration that an objective measures. `start` is the whole start, the others are parts of a pod's lifetime. */
export type Measure = "start" | "first-sandbox" | "recreation" | "pull" | "termination" | StageName;

interface ObjectiveBase {
  readonly name: string;
  /** Target share of good events, above 0 and below 1. */
  readonly target: number;
  readonly windowMs: number;
  readonly selector: ObjectiveSelector;
}

/** Objective that the target share of durations does not exceed the threshold. */
export interface LatencyObjective extends ObjectiveBase {
  readonly kind: "latency";
  readonly measure: Measure;
  readonly thresholdMs: number;
}

/** Objective that the target share of pods succeeds before the deadline. A pod counts as bad when its deadline passes. */
export interface SuccessObjective extends ObjectiveBase {
  readonly kind: "success";
  readonly measure: "start" | "first-sandbox";
  readonly deadlineMs: number;
}

export type Objective = LatencyObjective | SuccessObjective;

/** Selects pods that match all given fields. A list matches if it contains the pod's value. */
export interface ObjectiveSelector {
  readonly namespaces?: readonly string[];
  readonly ownerKinds?: readonly string[];
  readonly runtimeClasses?: readonly string[];
  readonly storageClasses?: readonly string[];
  /** Labels and annotations that the operator chose. */
  readonly chosen?: Readonly<Record<string, string>>;
}

const subjects: Readonly<Record<Measure, string>> = {
  start: "starts",
  "first-sandbox": "first sandboxes",
  recreation: "re-created sandboxes",
  pull: "image pulls",
  termination: "terminations",
  scheduling: "schedulings",
  sandbox: "sandbox stages",
  init: "init stages",
  containers: "container stages",
  readiness: "readiness stages",
};

/** `99% of first sandboxes within 10s, over 28d, in namespace shop` */
export function describeObjective(objective: Objective): string {
  const { kind, measure, target, windowMs, selector } = objective;
  const limit = kind === "latency" ? objective.thresholdMs : objective.deadlineMs;
  const what = kind === "latency" ? `${subjects[measure]} within` : `${subjects[measure]} succeed within`;
  return [
    `${formatPercent(target)} of ${what} ${formatDuration(limit)}`,
    `over ${formatDuration(windowMs)}`,
    ...describeSelector(selector),
  ].join(", ");
}

/** Formats a share with as few digits as possible: `99.9%`. */
function formatPercent(share: number): string {
  return `${Number((share * 100).toFixed(6))}%`;
}

function describeSelector(selector: ObjectiveSelector): string[] {
  const { namespaces, ownerKinds, runtimeClasses, storageClasses, chosen = {} } = selector;
  const either = (values: readonly string[]) => values.join(" or ");
  return [
    ...(namespaces ? [`in namespace ${either(namespaces)}`] : []),
    ...(ownerKinds ? [`of ${either(ownerKinds)}`] : []),
    ...(runtimeClasses ? [`with RuntimeClass ${either(runtimeClasses)}`] : []),
    ...(storageClasses ? [`with StorageClass ${either(storageClasses)}`] : []),
    ...Object.entries(chosen).map(([key, value]) => `with ${key}=${value}`),
  ];
}
