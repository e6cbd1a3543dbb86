import { type ProbeKind, type ProbePlan, planProbe } from "./decide-probe.ts";

export const now = 1_000_000;
/** No result yet. */
export const noStreak = { result: "failure", length: 0 } as const;

/** Creates a plan with the API's defaults and the given changes. */
export const plan = (kind: ProbeKind, changes: Partial<ProbePlan> = {}): ProbePlan => ({
  ...planProbe(kind, {}),
  ...changes,
});
