/** A startup probe that fits how long a container was seen to take. */
export interface StartupProbeAdvice {
  readonly periodSeconds: number;
  readonly failureThreshold: number;
  readonly slowestSeconds: number;
  /** Why, in words for whoever reads it. */
  readonly reason: string;
}

/** Fewer say too little of the slowest. */
const fewestObservations = 3;
const longestPeriodSeconds = 10;
const smallestBudgetSeconds = 30;

/**
 * From observed times between a container's start and its first successful startup probe:
 * - the period is a tenth of the median, from 1 to 10 s: what the probe adds to a usual start stays near a tenth of it;
 * - the budget is three times the slowest, and 30 s at least: a cold cache or a busy node is no reason for a restart,
 *   a deadlock is still found within a few usual starts;
 * - the threshold is that budget in periods, and one more for the probe at the very start.
 */
export function adviseStartupProbe(startDurationsMs: readonly number[]): StartupProbeAdvice | undefined {
  const sorted = startDurationsMs.filter((ms) => Number.isFinite(ms) && ms >= 0).sort((a, b) => a - b);
  const slowestMs = sorted.at(-1);
  const medianMs = sorted[Math.floor(sorted.length / 2)];
  if (sorted.length < fewestObservations || slowestMs === undefined || medianMs === undefined)
    return undefined;

  const periodSeconds = Math.min(longestPeriodSeconds, Math.max(1, Math.round(medianMs / 10_000)));
  const budgetSeconds = Math.max(smallestBudgetSeconds, (3 * slowestMs) / 1_000);
  const failureThreshold = Math.ceil(budgetSeconds / periodSeconds) + 1;
  const reason =
    `${sorted.length} starts took ${seconds(medianMs)} (median) to ${seconds(slowestMs)} (slowest): ` +
    `probing every ${periodSeconds} s, ${(failureThreshold - 1) * periodSeconds} s are allowed before a restart`;
  return { periodSeconds, failureThreshold, slowestSeconds: slowestMs / 1_000, reason };
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
