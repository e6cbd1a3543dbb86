import type { ServiceError } from "@grpc/grpc-js";
import type { ReportGranularity } from "../../cri/report-meter.ts";

// A pull is a function of the time since it began: nothing ticks while it goes on, however many there are.

export interface PullPlan {
  readonly layers: readonly { readonly digest: string; readonly size: number; readonly exists: boolean }[];
  /** Of the layers that are not here. */
  readonly total: number;
  /** When the first byte can come. */
  readonly startMs: number;
  readonly bytesPerMs: number;
  readonly stall?: { readonly atByte: number; readonly ms: number };
  readonly unpackMs: number;
  readonly failure?: { readonly atByte: number; readonly error: ServiceError };
}

type LayerStage = "waiting" | "downloading" | "unpacking" | "done" | "exists";

export interface LayerProgress {
  readonly digest: string;
  readonly offset: number;
  readonly total: number;
  readonly stage: LayerStage;
}

/** When that many bytes are here. */
export function timeOfByte(plan: PullPlan, byte: number): number {
  const stalled = plan.stall && byte > plan.stall.atByte ? plan.stall.ms : 0;
  return plan.startMs + byte / plan.bytesPerMs + stalled;
}

/** How many bytes are here. */
export function bytesAt(plan: PullPlan, atMs: number): number {
  const { bytesPerMs, stall, startMs, total } = plan;
  let flowing = atMs - startMs;
  if (flowing < 0) return 0;
  const reach = stall ? stall.atByte / bytesPerMs : Number.POSITIVE_INFINITY;
  if (stall && flowing >= reach) {
    if (flowing < reach + stall.ms) return Math.min(Math.floor(stall.atByte), total);
    flowing -= stall.ms;
  }
  if (bytesPerMs === Number.POSITIVE_INFINITY) return total;
  // A byte that comes at this very moment is here, also when the division was a little short.
  return Math.min(total, Math.floor(flowing * bytesPerMs + 1e-6));
}

export type PullEnding =
  | { readonly kind: "done"; readonly atMs: number }
  | { readonly kind: "failed"; readonly atMs: number; readonly error: ServiceError }
  | { readonly kind: "stalled"; readonly atMs: number };

/** How it ends for a caller who waits so long for a byte; 0 is for ever. */
export function endingOf(plan: PullPlan, noProgressMs: number): PullEnding {
  const { failure } = plan;
  const end: PullEnding = failure
    ? { kind: "failed", atMs: timeOfByte(plan, Math.min(failure.atByte, plan.total)), error: failure.error }
    : { kind: "done", atMs: timeOfByte(plan, plan.total) + plan.unpackMs };
  const stalledAt = noProgressMs > 0 ? stallOf(plan, noProgressMs) : undefined;
  return stalledAt !== undefined && stalledAt < end.atMs ? { kind: "stalled", atMs: stalledAt } : end;
}

/** Nothing comes before the start, during the stall, or in time where it trickles. Unpacking waits for no byte. */
function stallOf({ startMs, stall, ...plan }: PullPlan, noProgressMs: number): number | undefined {
  if (startMs > noProgressMs) return noProgressMs;
  if (plan.total > 0 && 1 / plan.bytesPerMs > noProgressMs) return startMs + noProgressMs;
  if (!stall || stall.ms <= noProgressMs || stall.atByte >= plan.total) return undefined;
  return startMs + stall.atByte / plan.bytesPerMs + noProgressMs;
}

/** When a caller is due its next report; undefined: never. */
export function nextReportAt(
  plan: PullPlan,
  granularity: ReportGranularity,
  last: { readonly atMs: number; readonly offset: number },
): number | undefined {
  switch (granularity.kind) {
    case "none":
      return undefined;
    case "time":
      return last.atMs + granularity.intervalMs;
    case "size": {
      const target = last.offset + granularity.intervalBytes;
      return target > plan.total ? undefined : timeOfByte(plan, target);
    }
  }
}

/** Layer after layer, and unpacked when the last byte is here. */
export function layersAt(plan: PullPlan, atMs: number): LayerProgress[] {
  let before = 0;
  const here = bytesAt(plan, atMs);
  const unpacking = plan.unpackMs > 0 && atMs < timeOfByte(plan, plan.total) + plan.unpackMs;
  return plan.layers.map(({ digest, size, exists }) => {
    if (exists) return { digest, offset: 0, total: 0, stage: "exists" };
    const offset = Math.min(size, Math.max(0, here - before));
    before += size;
    const whole = unpacking ? "unpacking" : "done";
    const stage = offset === size ? whole : offset > 0 ? "downloading" : "waiting";
    return { digest, offset, total: size, stage };
  });
}
