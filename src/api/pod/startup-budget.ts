import type { Container, Probe } from "../meta/objects.ts";

/** Seconds after which a failing startup or liveness probe kills the container. Undefined without such a probe. */
export function allowedStartSeconds({
  startupProbe,
  livenessProbe,
}: Pick<Container, "startupProbe" | "livenessProbe">): number | undefined {
  const probe: Probe | undefined = startupProbe ?? livenessProbe;
  if (!probe) return undefined;
  const { initialDelaySeconds = 0, periodSeconds = 10, failureThreshold = 3 } = probe;
  return initialDelaySeconds + periodSeconds * (failureThreshold - 1);
}

/** Used and remaining startup budget of a container. */
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

/** Computes the startup budget: time until the last allowed probe starts, without the timeout of that probe. */
export function startupBudget(facts: StartupBudgetFacts): StartupBudget {
  const { failures, failureThreshold, periodMs, nextProbeAtMs, now } = facts;
  const remaining = failureThreshold - failures;
  const leftMs = remaining <= 0 ? 0 : Math.max(0, nextProbeAtMs - now) + (remaining - 1) * periodMs;
  return formatBudget({ failures, failureThreshold, secondsLeft: Math.ceil(leftMs / 1_000) });
}

/** Adds the text to a startup budget. */
export function formatBudget(budget: Omit<StartupBudget, "text">): StartupBudget {
  const { failures, failureThreshold, secondsLeft } = budget;
  return { ...budget, text: `${failures} of ${failureThreshold} failures, at most ${secondsLeft} s left` };
}
