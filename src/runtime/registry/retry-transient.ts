import { type BackoffState, backOff } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import { ImageError, isTransient } from "../image/image-error.ts";

const policy = { initialMs: 200, maxMs: 5_000, factor: 3, resetAfterMs: 60_000 };
const maxAttempts = 4;

/**
 * Tries again what the network failed, waiting longer each time. An attempt that got further than the one before
 * (as `progress` counts) does not use up tries: a long download may be cut any number of times.
 */
export async function retryTransient<T>(
  attempt: () => Promise<T>,
  options: { clock: Clock; signal: AbortSignal; progress?: () => number },
): Promise<T> {
  const { clock, signal, progress = () => 0 } = options;
  let backoff: BackoffState | undefined;
  let failures = 0;
  let reached = progress();
  for (;;) {
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      if (!isTransient(error)) throw error;
      if (progress() > reached) {
        failures = 0;
        backoff = undefined;
      }
      reached = Math.max(reached, progress());
      if (++failures >= maxAttempts) throw error;
      backoff = backOff(policy, backoff, clock.now());
      const askedMs = error instanceof ImageError ? error.retryAfterMs : 0;
      await clock.sleep(Math.max(backoff.delayMs, askedMs), signal);
    }
  }
}
