import type { Clock } from "./clock.ts";

export interface BackoffPolicy {
  initialMs: number;
  maxMs: number;
  factor: number;
  /** A failure after this time without failures restarts from `initialMs`. */
  resetAfterMs: number;
}

export interface BackoffState {
  delayMs: number;
  failedAt: number;
}

/** Computes the state after another failure. */
export function backOff(
  policy: BackoffPolicy,
  previous: BackoffState | undefined,
  now: number,
): BackoffState {
  if (!previous || now - previous.failedAt > policy.resetAfterMs) {
    return { delayMs: policy.initialMs, failedAt: now };
  }
  return { delayMs: Math.min(previous.delayMs * policy.factor, policy.maxMs), failedAt: now };
}

/** Remaining back-off; 0 when a retry may run. */
export function backoffRemainingMs(state: BackoffState | undefined, now: number): number {
  return state ? Math.max(0, state.failedAt + state.delayMs - now) : 0;
}

export interface RetryOptions {
  policy: BackoffPolicy;
  clock: Clock;
  signal: AbortSignal;
  /** Called before each delay, for logging. */
  onFailure?: (error: unknown, delayMs: number) => void;
}

/** Runs `attempt` with back-off until it succeeds or the signal aborts. */
export async function retry<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { policy, clock, signal, onFailure } = options;
  let state: BackoffState | undefined;
  for (;;) {
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      state = backOff(policy, state, clock.now());
      onFailure?.(error, state.delayMs);
      await clock.sleep(state.delayMs, signal);
    }
  }
}
