// Clauses: 3085-9
/**
 * Rate limit for the status writes of one pod: a burst for all steps of a start, then one write per second. A crashing
 * sandbox then causes one write per second, and the last state is always written.
 */
const burst = 10;
const refillMs = 1_000;

export interface WriteBudget {
  readonly left: number;
  /** Time at which `left` was computed. */
  readonly atMs: number;
}

export function fullBudget(now: number): WriteBudget {
  return { left: burst, atMs: now };
}

/** Time until the next write is allowed; 0 if it is allowed now. */
export function budgetWaitMs(budget: WriteBudget, now: number): number {
  const { left, atMs } = refill(budget, now);
  return left > 0 ? 0 : atMs + refillMs - now;
}

export function spendOne(budget: WriteBudget, now: number): WriteBudget {
  const { left, atMs } = refill(budget, now);
  return { left: Math.max(0, left - 1), atMs };
}

function refill({ left, atMs }: WriteBudget, now: number): WriteBudget {
  // Writes must not be delayed when the clock was set back.
  if (now < atMs) return { left, atMs: now };
  const earned = Math.floor((now - atMs) / refillMs);
  return left + earned >= burst ? fullBudget(now) : { left: left + earned, atMs: atMs + earned * refillMs };
}
