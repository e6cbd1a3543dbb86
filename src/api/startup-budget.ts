/** How much of its time to start a container has used. */
export interface StartupBudget {
  readonly failures: number;
  readonly failureThreshold: number;
  readonly secondsLeft: number;
  /** `3 of 30 failures, at most 270 s left` */
  readonly text: string;
}

interface StartupBudgetFacts {
  readonly failures: number;
  readonly failureThreshold: number;
  readonly periodMs: number;
  readonly nextProbeAtMs: number;
  readonly now: number;
}

/** Until the probe that would be one failure too many begins; that one's own timeout comes on top. */
export function startupBudget(facts: StartupBudgetFacts): StartupBudget {
  const { failures, failureThreshold, periodMs, nextProbeAtMs, now } = facts;
  const remaining = failureThreshold - failures;
  const leftMs = remaining <= 0 ? 0 : Math.max(0, nextProbeAtMs - now) + (remaining - 1) * periodMs;
  return tellBudget({ failures, failureThreshold, secondsLeft: Math.ceil(leftMs / 1_000) });
}

/** The same of numbers that somebody else has worked out. */
export function tellBudget(budget: Omit<StartupBudget, "text">): StartupBudget {
  const { failures, failureThreshold, secondsLeft } = budget;
  return { ...budget, text: `${failures} of ${failureThreshold} failures, at most ${secondsLeft} s left` };
}
