import { type BackoffPolicy, type BackoffState, backOff } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { PodPlan } from "./pod-plan.ts";

/** A step that failed is tried again from half a second on. */
export const retryPolicy: BackoffPolicy = { initialMs: 500, maxMs: 10_000, factor: 2, resetAfterMs: 60_000 };

/** Holds a plan back that has failed. Another plan may run at once. */
export interface PlanRetry {
  /** When the plan may run; 0 for one that has not failed. */
  earliest(plan: PodPlan): number;
  failed(plan: PodPlan): void;
  /** Whatever failed may run again at once. */
  forget(): void;
}

export function createPlanRetry(clock: Pick<Clock, "now">): PlanRetry {
  let last: { readonly plan: string; readonly state: BackoffState } | undefined;
  return {
    earliest: (plan) => (last?.plan === describe(plan) ? last.state.failedAt + last.state.delayMs : 0),
    failed(plan) {
      const description = describe(plan);
      const before = last?.plan === description ? last.state : undefined;
      last = { plan: description, state: backOff(retryPolicy, before, clock.now()) };
    },
    forget() {
      last = undefined;
    },
  };
}

/** Plans that try the same thing are alike, whatever attempt it is. */
function describe({ actions }: PodPlan): string {
  return actions
    .map((action) => (action.kind === "startContainer" ? `start ${action.container.name}` : action.kind))
    .join(", ");
}
