import type { PodStart, StartSignal } from "../measure/start-signal.ts";
import type { LatencyObjective, Measure, Objective, ObjectiveSelector } from "./objective.ts";

export type Verdict = "good" | "bad";

/** What a signal says of an objective; undefined where it is about something else. */
export function judgeSignal(objective: Objective, signal: StartSignal): Verdict | undefined {
  const { start } = signal;
  // A termination is the cluster's, whatever the user did before.
  if (start.userError !== undefined && signal.kind !== "terminated") return undefined;
  if (!isSelected(objective.selector, start)) return undefined;
  const seconds = lengthOf(objective.measure, signal);
  if (seconds === undefined) return undefined;
  return seconds * 1_000 <= limitMs(objective) ? "good" : "bad";
}

/** A start that is still under way fails when its deadline is over; nobody has to wait for what may never come. */
export function isOverdue(objective: Objective, start: PodStart, now: number): boolean {
  if (objective.kind === "latency" || start.userError !== undefined) return false;
  if (!isSelected(objective.selector, start)) return false;
  const isSandbox = objective.measure === "first-sandbox";
  if (isSandbox && start.ends.sandbox !== undefined) return false;
  const fromMs = isSandbox ? start.ends.scheduling : start.createdMs;
  return fromMs !== undefined && now - fromMs > objective.deadlineMs;
}

function limitMs(objective: Objective): number {
  return objective.kind === "latency" ? objective.thresholdMs : objective.deadlineMs;
}

function lengthOf(measure: LatencyObjective["measure"], signal: StartSignal): number | undefined {
  return signalMeasures(signal).includes(measure) && "seconds" in signal ? signal.seconds : undefined;
}

/** `sandbox`, the stage, and `first-sandbox` are told each by its own signal. */
function signalMeasures(signal: StartSignal): readonly Measure[] {
  switch (signal.kind) {
    case "stage":
      return [signal.stage];
    case "sandbox":
      return [signal.first ? "first-sandbox" : "recreation"];
    case "ready":
      return ["start"];
    case "pull":
      return ["pull"];
    case "terminated":
      return ["termination"];
    default:
      return [];
  }
}

function isSelected(selector: ObjectiveSelector, { class: podClass }: PodStart): boolean {
  const { namespaces, ownerKinds, runtimeClasses, storageClasses, chosen = {} } = selector;
  return (
    (namespaces?.includes(podClass.namespace) ?? true) &&
    (ownerKinds?.includes(podClass.ownerKind) ?? true) &&
    (runtimeClasses?.includes(podClass.runtimeClass) ?? true) &&
    (storageClasses?.some((name) => podClass.storageClasses.includes(name)) ?? true) &&
    Object.entries(chosen).every(([key, value]) => podClass.chosen[key] === value)
  );
}
