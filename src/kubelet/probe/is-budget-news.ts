import type { StartupBudget } from "../../api/startup-budget.ts";

/** Events say so twice and no more: when half of it is used, and when the next failure is the last. */
export function isBudgetNews({ failures, failureThreshold }: StartupBudget): boolean {
  // With fewer there is an Unhealthy event for each anyway.
  if (failureThreshold < 6) return false;
  return failures === Math.ceil(failureThreshold / 2) || failures === failureThreshold - 1;
}
