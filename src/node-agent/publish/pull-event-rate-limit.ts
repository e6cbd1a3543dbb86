// Clauses: 3542-11
import { createHash } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { createLimiter } from "../../lib/limiter.ts";

interface RateLimitOptions {
  readonly nodeName: string;
  /** Current duration of an event write. */
  readonly eventWriteMs: () => number;
  readonly clock: Clock;
}

/**
 * Limits progress events to one per second for all concurrent pulls of the node. The returned function resolves when the
 * caller may record an event, in the order of the calls, and rejects if its signal aborts.
 */
export function createPullEventRateLimit(options: RateLimitOptions): (signal: AbortSignal) => Promise<void> {
  const { nodeName, eventWriteMs, clock } = options;
  const phaseMs = phaseOf(nodeName);
  const oneAtATime = createLimiter(1);
  let rate = initialRate;

  return (signal) => {
    const since = clock.now();
    return oneAtATime(async () => {
      for (;;) {
        const turn = limitPullEvents(rate, { now: clock.now(), since, phaseMs, writeMs: eventWriteMs() });
        rate = turn.rate;
        if (turn.waitMs === 0) return;
        await clock.sleep(turn.waitMs, signal);
      }
    }, signal);
  };
}

/** Each period divides the longest, so nodes that are spread evenly over the longest are spread evenly over all. */
const periodsMs = [1_000, 2_000, 3_000, 4_000, 6_000, 8_000, 12_000, 24_000] as const;
const [minPeriodMs] = periodsMs;
const maxPeriodMs = 24_000;
/** Minimum ratio of the period to the duration of an event write. */
const periodPerWriteTime = 20;
/** Number of fast writes before a shorter period. Speeding up after one would let the load of many nodes oscillate. */
const fastWritesBeforeSpeedUp = 16;
const resetAfterIdleMs = 60_000;

/** State of the rate limit. */
export interface EventRate {
  readonly periodMs: number;
  /** Consecutive writes that were fast enough for a shorter period. */
  readonly fastWrites: number;
  /** Time of the last event. */
  readonly lastEventAt: number;
}

/** Rate of a node that has not recorded progress for a while: earlier write durations are outdated. */
export const initialRate: EventRate = {
  periodMs: minPeriodMs,
  fastWrites: 0,
  lastEventAt: Number.NEGATIVE_INFINITY,
};

interface RateRequest {
  readonly now: number;
  /** Time when the next pull started to wait. */
  readonly since: number;
  readonly phaseMs: number;
  /** Current duration of an event write. */
  readonly writeMs: number;
}

/**
 * Decides whether a node may record a progress event now (`waitMs` is 0) or when to try again. A node records events at
 * its own phase of the clock. Otherwise kubelets that start together, as in a rollout, would write at the same instants
 * and delay all other requests behind 5,000 events. The period grows immediately with the duration of writes and shrinks
 * slowly.
 */
export function limitPullEvents(
  before: EventRate,
  { now, since, phaseMs, writeMs }: RateRequest,
): { readonly waitMs: number; readonly rate: EventRate } {
  const isIdle = now - before.lastEventAt > resetAfterIdleMs;
  const rate = isIdle ? initialRate : slowDown(before, writeMs);
  const nextAt = phaseAfter(Math.max(since, rate.lastEventAt), { phaseMs, periodMs: rate.periodMs });
  if (nextAt > now) return { waitMs: nextAt - now, rate };
  return { waitMs: 0, rate: { ...speedUp(rate, writeMs), lastEventAt: now } };
}

function slowDown(rate: EventRate, writeMs: number): EventRate {
  const periodMs = periodFor(writeMs);
  return periodMs > rate.periodMs ? { ...rate, periodMs, fastWrites: 0 } : rate;
}

function speedUp(rate: EventRate, writeMs: number): EventRate {
  if (periodFor(writeMs) >= rate.periodMs) return { ...rate, fastWrites: 0 };
  const fastWrites = rate.fastWrites + 1;
  if (fastWrites < fastWritesBeforeSpeedUp) return { ...rate, fastWrites };
  return { ...rate, fastWrites: 0, periodMs: periodsMs.findLast((ms) => ms < rate.periodMs) ?? minPeriodMs };
}

function periodFor(writeMs: number): number {
  return periodsMs.find((ms) => ms >= periodPerWriteTime * writeMs) ?? maxPeriodMs;
}

function phaseAfter(atMs: number, { phaseMs, periodMs }: { phaseMs: number; periodMs: number }): number {
  const pastMs = (((atMs - phaseMs) % periodMs) + periodMs) % periodMs;
  return atMs + periodMs - pastMs;
}

/** Phase of a node within the longest period. */
export function phaseOf(nodeName: string): number {
  return createHash("sha256").update(nodeName).digest().readUInt32BE() % maxPeriodMs;
}
