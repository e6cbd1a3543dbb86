// Clauses: 3085-13, 3085-16
import type { AvailabilityRecord } from "../measure/availability.ts";
import type { PodStart, StartSignal } from "../measure/start-signal.ts";
import { noneValue } from "../metrics/class-labels.ts";
import type { Measure, Objective, ObjectiveSelector } from "./objective.ts";

export interface Counts {
  readonly bad: number;
  readonly total: number;
}

/** Counts by key over a sliding window of `windowMs`, which advances in steps. */
interface WindowedCounts {
  add(now: number, keys: readonly string[], isBad: boolean): void;
  totals(now: number): ReadonlyMap<string, Counts>;
  /** Counts as plain data, for the `saved` option. */
  save(): SavedCounts;
}

/** Counts by step number since the epoch. */
export type SavedCounts = readonly (readonly [
  step: number,
  counts: readonly (readonly [string, Counts])[],
])[];

interface Options {
  readonly windowMs: number;
  readonly steps: number;
  readonly saved?: SavedCounts;
}

export function createWindowedCounts({ windowMs, steps, saved = [] }: Options): WindowedCounts {
  const stepMs = windowMs / steps;
  const stepOf = (now: number) => Math.floor(now / stepMs);
  const byStep = new Map(saved.map(([step, counts]) => [step, new Map(counts)]));

  function expire(now: number): void {
    const oldest = stepOf(now) - steps;
    for (const step of byStep.keys()) if (step <= oldest) byStep.delete(step);
    // After the clock was set back, steps in the future would never expire.
    for (const step of byStep.keys()) if (step > stepOf(now) + steps) byStep.delete(step);
  }

  return {
    add(now, keys, isBad) {
      expire(now);
      const step = stepOf(now);
      const counts = byStep.get(step) ?? new Map<string, Counts>();
      byStep.set(step, counts);
      for (const key of keys) {
        const { bad, total } = counts.get(key) ?? { bad: 0, total: 0 };
        counts.set(key, { bad: bad + (isBad ? 1 : 0), total: total + 1 });
      }
    },
    totals(now) {
      expire(now);
      const sums = new Map<string, Counts>();
      for (const counts of byStep.values()) {
        for (const [key, { bad, total }] of counts) {
          const sum = sums.get(key);
          sums.set(key, { bad: bad + (sum?.bad ?? 0), total: total + (sum?.total ?? 0) });
        }
      }
      return sums;
    },
    save: () => [...byStep].map(([step, counts]) => [step, [...counts]]),
  };
}

type SloResult = "good" | "bad";
type UnavailableMs = AvailabilityRecord["unavailableMs"];

/**
 * Evaluates a signal for an objective. Undefined if the signal does not apply, or if the limit was exceeded only because
 * the API server was unavailable.
 */
export function evaluateSignal(
  objective: Objective,
  signal: StartSignal,
  unavailableMs: UnavailableMs,
): SloResult | undefined {
  const { start } = signal;
  // Terminations count even after user errors.
  if (start.userError !== undefined && signal.kind !== "terminated") return undefined;
  if (!isSelected(objective.selector, start)) return undefined;
  if (!("seconds" in signal) || !signalMeasures(signal).includes(objective.measure)) return undefined;
  const durationMs = signal.seconds * 1_000;
  if (durationMs <= limitMs(objective)) return "good";
  // Pulls do not need the API server.
  const excusedMs = "endedMs" in signal ? unavailableMs(signal.endedMs - durationMs, signal.endedMs) : 0;
  return durationMs - excusedMs > limitMs(objective) ? "bad" : undefined;
}

interface OverdueFacts {
  /** Time at which the start is known to have been unfinished. */
  readonly asOfMs: number;
  readonly unavailableMs: UnavailableMs;
}

/** Whether an unfinished start has missed its deadline and therefore counts as bad. */
export function isOverdue(
  objective: Objective,
  start: PodStart,
  { asOfMs, unavailableMs }: OverdueFacts,
): boolean {
  if (objective.kind === "latency" || start.userError !== undefined) return false;
  if (!isSelected(objective.selector, start)) return false;
  const isSandbox = objective.measure === "first-sandbox";
  if (isSandbox && start.ends.sandbox !== undefined) return false;
  const fromMs = isSandbox ? start.ends.scheduling : start.beganMs;
  return fromMs !== undefined && asOfMs - fromMs - unavailableMs(fromMs, asOfMs) > objective.deadlineMs;
}

function limitMs(objective: Objective): number {
  return objective.kind === "latency" ? objective.thresholdMs : objective.deadlineMs;
}

/** Measures that a signal contributes to. The stage `sandbox` and `first-sandbox` have separate signals. */
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

/**
 * Classes of a start that a breach can be attributed to. Plugins come first: of two classes with the same pods, the
 * first is shown first.
 */
export function classesOf({ pod, class: podClass }: PodStart): { dimension: string; value: string }[] {
  const { namespace, ownerKind, ownerName, runtimeClass, storageClasses, chosen } = podClass;
  const owner = ownerKind === "Pod" ? "Pod" : `${namespace}/${ownerKind}/${ownerName}`;
  return [
    ...(storageClasses.length > 0 ? storageClasses : [noneValue]).map((value) => ({
      dimension: "StorageClass",
      value,
    })),
    { dimension: "RuntimeClass", value: runtimeClass || noneValue },
    { dimension: "node", value: pod.node || noneValue },
    ...Object.entries(chosen).map(([dimension, value]) => ({ dimension, value: value || noneValue })),
    { dimension: "owner", value: owner },
    { dimension: "namespace", value: namespace },
  ];
}

interface Breach extends Counts {
  /** `StorageClass`, `node`, a label's key. */
  readonly dimension: string;
  readonly value: string;
}

/**
 * Ranks the classes of bad events: first those with a high share of bad events that also cover most bad events. A plugin
 * that fails all its pods ranks before the namespace that contains other pods too, and before a single node on which it
 * fails. Classes with equal scores keep their order.
 */
export function rankBreaches(classes: readonly Breach[], allBad: number): Breach[] {
  const score = ({ bad, total }: Breach) => (bad / total) * (bad / allBad);
  return classes.filter(({ bad }) => bad > 0).sort((a, b) => score(b) - score(a) || b.bad - a.bad);
}
