import type { StageName } from "../measure/start-signal.ts";

/** What an objective is about. All but `start`, which is all of them, are a stretch of a pod's life. */
export type Measure = "start" | "first-sandbox" | "recreation" | "pull" | "termination" | StageName;

interface ObjectiveBase {
  readonly name: string;
  /** The share that should be good: above 0, below 1. */
  readonly target: number;
  readonly windowMs: number;
  readonly selector: ObjectiveSelector;
}

/** So many of them take no longer than the threshold. */
export interface LatencyObjective extends ObjectiveBase {
  readonly kind: "latency";
  readonly measure: Measure;
  readonly thresholdMs: number;
}

/** So many pods get there before the deadline; one that never does counts as soon as its deadline has passed. */
export interface SuccessObjective extends ObjectiveBase {
  readonly kind: "success";
  readonly measure: "start" | "first-sandbox";
  readonly deadlineMs: number;
}

export type Objective = LatencyObjective | SuccessObjective;

/** A pod has to match all that are given; one value of a list is enough. */
export interface ObjectiveSelector {
  readonly namespaces?: readonly string[];
  readonly ownerKinds?: readonly string[];
  readonly runtimeClasses?: readonly string[];
  readonly storageClasses?: readonly string[];
  /** Labels and annotations that the operator chose. */
  readonly chosen?: Readonly<Record<string, string>>;
}
