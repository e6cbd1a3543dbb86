import type { Explanation, PodFacts } from "../../explain/explanation.ts";

/** Event of the tour, for the printer. */
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
  /** Next action, with an equivalent command or part of a manifest. */
  | { readonly kind: "does"; readonly what: string; readonly command?: string; readonly manifest?: string }
  /** Current state of the pod, which replaces the previous one. */
  | { readonly kind: "state"; readonly state: PodState }
  /** The step has demonstrated something. */
  | { readonly kind: "shown"; readonly what: string }
  /** Commands that show the same behaviour. */
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
  /** Undefined on success. */
  readonly problem: string | undefined;
}

/** Description of a step. */
export interface StepInfo {
  readonly title: string;
  /** Proposal that the step demonstrates. */
  readonly proposal: string;
  /** Purpose, in one or two sentences. */
  readonly about: string;
  /** Documentation page. */
  readonly page: string;
  /** Whether the step demonstrates image pulls. If no step does, the registry's rate is not limited. */
  readonly showsPull?: boolean;
}
