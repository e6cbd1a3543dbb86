// Clauses: 3542-2
import type { PullImageWithProgressRequest } from "./generated/cri.ts";

/** Granularity of the progress reports of a pull. */
export type ReportGranularity =
  | { readonly kind: "time"; readonly intervalMs: number }
  | { readonly kind: "size"; readonly intervalBytes: number }
  | { readonly kind: "none" };

/** Intervals that replace 0. */
const defaultIntervals = { timeMs: 60_000, sizeBytes: 2 ** 30 } as const;

/** Granularity requested by a client, with default intervals; undefined for an unknown type. */
export function requestedGranularity({
  granularityType,
  interval,
}: Pick<PullImageWithProgressRequest, "granularityType" | "interval">): ReportGranularity | undefined {
  const amount = Number(interval?.value ?? 0n);
  switch (granularityType) {
    case 0:
      return withDefaults({ kind: "size", intervalBytes: amount });
    case 1:
      return withDefaults({ kind: "time", intervalMs: 1_000 * amount });
    case 2:
      return { kind: "none" };
    default:
      return undefined;
  }
}

/** Replaces intervals of 0 by the runtime's defaults. */
export function withDefaults(granularity: ReportGranularity): ReportGranularity {
  if (granularity.kind === "time" && granularity.intervalMs <= 0) {
    return { kind: "time", intervalMs: defaultIntervals.timeMs };
  }
  if (granularity.kind === "size" && granularity.intervalBytes <= 0) {
    return { kind: "size", intervalBytes: defaultIntervals.sizeBytes };
  }
  return granularity;
}

/** Reported bytes of a pull, and the current allowance of further reports. */
export interface SizeMeter {
  readonly offset: number;
  readonly allowance: number;
  readonly atMs: number;
}

export type SizeDecision =
  | { readonly kind: "quiet" | "report"; readonly meter: SizeMeter }
  /** A report is due, but the rate limit is exceeded: check again after the delay. */
  | { readonly kind: "postpone"; readonly waitMs: number };

/**
 * Maximum rate of reports, regardless of the requested interval. A report takes a quarter of a millisecond, so this limits
 * them to 1 % of a core.
 */
const reportsPerMs = 40 / 1_000;
/** Burst size, so that short pulls are reported completely. */
const maxAllowance = 32;

export function startSizeMeter(now: number): SizeMeter {
  return { offset: 0, allowance: maxAllowance, atMs: now };
}

/** Decides whether a report by size is due. */
export function meterBySize(
  meter: SizeMeter,
  { intervalBytes, offset, now }: { intervalBytes: number; offset: number; now: number },
): SizeDecision {
  // A download that restarted from the beginning.
  if (offset < meter.offset) return { kind: "quiet", meter: { ...meter, offset } };
  if (offset - meter.offset < intervalBytes) return { kind: "quiet", meter };
  const grown = Math.max(0, now - meter.atMs) * reportsPerMs;
  const allowance = Math.min(maxAllowance, meter.allowance + grown);
  if (allowance < 1) return { kind: "postpone", waitMs: Math.ceil((1 - allowance) / reportsPerMs) };
  return { kind: "report", meter: { offset, allowance: allowance - 1, atMs: now } };
}
