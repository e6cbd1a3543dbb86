/** How much of its time to start a container has used. */
export interface StartupBudget {
  readonly failures: number;
  readonly failureThreshold: number;
  readonly secondsLeft: number;
  /** `3 of 30 failures, at most 270 s left` */
  readonly text: string;
}

export interface StartupBudgetFacts {
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
  const secondsLeft = Math.ceil(leftMs / 1_000);
  const text = `${failures} of ${failureThreshold} failures, at most ${secondsLeft} s left`;
  return { failures, failureThreshold, secondsLeft, text };
}

/** Events say so twice and no more: when half of it is used, and when the next failure is the last. */
export function isBudgetNews({ failures, failureThreshold }: StartupBudget): boolean {
  // With fewer there is an Unhealthy event for each anyway.
  if (failureThreshold < 6) return false;
  return failures === Math.ceil(failureThreshold / 2) || failures === failureThreshold - 1;
}
