import { type ProbeKind, type ProbePlan, planProbe } from "./decide-probe.ts";

export const now = 1_000_000;
/** No result has come yet. */
export const noStreak = { result: "failure", length: 0 } as const;

/** A probe with the API's defaults, but for what is changed. */
export const plan = (kind: ProbeKind, changes: Partial<ProbePlan> = {}): ProbePlan => ({
  ...planProbe(kind, {}),
  ...changes,
});
