/**
 * How often one pod's status may be written: a burst for a start with all its steps, then one a second. A sandbox that
 * dies and comes back all the time then costs the API server one write a second, and the last state still arrives.
 */
const burst = 10;
const refillMs = 1_000;

export interface WriteBudget {
  readonly left: number;
  /** When the budget was counted. */
  readonly atMs: number;
}

export function fullBudget(now: number): WriteBudget {
  return { left: burst, atMs: now };
}

/** How long a write has to wait; 0 when it may go out. */
export function budgetWaitMs(budget: WriteBudget, now: number): number {
  const { left, atMs } = refill(budget, now);
  return left > 0 ? 0 : atMs + refillMs - now;
}

export function spendOne(budget: WriteBudget, now: number): WriteBudget {
  const { left, atMs } = refill(budget, now);
  return { left: Math.max(0, left - 1), atMs };
}

function refill({ left, atMs }: WriteBudget, now: number): WriteBudget {
  // A clock that was set back must not hold writes up for as long.
  if (now < atMs) return { left, atMs: now };
  const earned = Math.floor((now - atMs) / refillMs);
  return left + earned >= burst ? fullBudget(now) : { left: left + earned, atMs: atMs + earned * refillMs };
}
