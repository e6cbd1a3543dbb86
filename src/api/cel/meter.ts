import type { Meter } from "./values.ts";

/** The cost of an evaluation exceeds its limit. Not an error value: no operator absorbs it. */
export class CostLimitError extends Error {
  constructor() {
    super("operation cancelled: actual cost limit exceeded");
  }
}

/**
 * Bounds an evaluation in two ways. Costs are those of upstream, with its limits and messages. Steps are the actual work:
 * some operations of upstream cost 1 whatever the size of their arguments, as the comparison of nested lists.
 */
export interface CostMeter extends Meter {
  readonly cost: number;
  charge(cost: number): void;
}

/** Steps that one unit of the cost limit allows. Regular expressions of the costs of upstream stay far below. */
const stepsPerCost = 20;

export function createMeter(limit: number): CostMeter {
  let steps = 0;
  const maxSteps = limit * stepsPerCost;
  const meter = {
    cost: 0,
    charge(cost: number) {
      meter.cost += cost;
      if (meter.cost > limit) throw new CostLimitError();
    },
    spend(count: number) {
      steps += count;
      if (steps > maxSteps) throw new CostLimitError();
    },
  };
  return meter;
}

/** Meter for the evaluation of constants while an expression is compiled. */
export const compileMeterLimit = 1_000_000;
