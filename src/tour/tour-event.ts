import type { Explanation, PodFacts } from "../monitor/explain/explanation.ts";
import type { StepInfo } from "./step-info.ts";

/** What happens on the tour, for whoever shows it. */
export type TourEvent =
  | { readonly kind: "preparing"; readonly what: string }
  | {
      readonly kind: "cluster";
      readonly kubeconfig: string;
      readonly runtime: string;
      readonly simulated: boolean;
      readonly tookMs: number;
    }
  | { readonly kind: "step"; readonly number: number; readonly of: number; readonly step: StepInfo }
  /** What is about to be done, in words, and the command or the part of a manifest that does the same. */
  | { readonly kind: "does"; readonly what: string; readonly command?: string; readonly manifest?: string }
  /** How the pod is now; the next one replaces it. */
  | { readonly kind: "state"; readonly state: PodState }
  /** Something that the step is there to show has come true. */
  | { readonly kind: "shown"; readonly what: string }
  /** Commands that show the same. */
  | { readonly kind: "look"; readonly commands: readonly string[] }
  | { readonly kind: "stepDone"; readonly outcome: StepOutcome }
  | { readonly kind: "cleaning" }
  | { readonly kind: "end"; readonly outcomes: readonly StepOutcome[]; readonly tookMs: number };

export interface PodState {
  readonly facts: PodFacts;
  readonly explanation: Explanation;
}

export interface StepOutcome {
  readonly number: number;
  readonly step: StepInfo;
  readonly tookMs: number;
  /** Undefined when it did what it shows. */
  readonly problem: string | undefined;
}
