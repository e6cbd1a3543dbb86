import type { PullImageWithProgressRequest } from "./generated/cri.ts";

/** When the caller of a pull wants to hear of it. */
export type ReportGranularity =
  | { readonly kind: "time"; readonly intervalMs: number }
  | { readonly kind: "size"; readonly intervalBytes: number }
  | { readonly kind: "none" };

/** What an interval of 0 asks for. */
const defaultIntervals = { timeMs: 60_000, sizeBytes: 2 ** 30 } as const;

/** What a request asks for, with the runtime's intervals where it leaves them open; undefined for a type that is none. */
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

/** The granularity with the runtime's intervals in the place of zeros. */
export function withDefaults(granularity: ReportGranularity): ReportGranularity {
  if (granularity.kind === "time" && granularity.intervalMs <= 0) {
    return { kind: "time", intervalMs: defaultIntervals.timeMs };
  }
  if (granularity.kind === "size" && granularity.intervalBytes <= 0) {
    return { kind: "size", intervalBytes: defaultIntervals.sizeBytes };
  }
  return granularity;
}

/** What the caller of a pull has heard of its bytes, and how many more reports it may have at this moment. */
export interface SizeMeter {
  readonly offset: number;
  readonly allowance: number;
  readonly atMs: number;
}

export type SizeDecision =
  | { readonly kind: "quiet" | "report"; readonly meter: SizeMeter }
  /** It is due, but there were too many: to be looked at again then. */
  | { readonly kind: "postpone"; readonly waitMs: number };

/**
 * A report costs the runtime a quarter of a millisecond. Whatever interval is asked for, a byte even, more than these
 * are not sent: together 1 % of a core.
 */
const reportsPerMs = 40 / 1_000;
/** At once, before that counts: short pulls are told of in full. */
const maxAllowance = 32;

export function startSizeMeter(now: number): SizeMeter {
  return { offset: 0, allowance: maxAllowance, atMs: now };
}

/** Whether a caller that asks for a report each so many bytes is due one. */
export function meterBySize(
  meter: SizeMeter,
  { intervalBytes, offset, now }: { intervalBytes: number; offset: number; now: number },
): SizeDecision {
  // A server that began again from the start took back what it had sent.
  if (offset < meter.offset) return { kind: "quiet", meter: { ...meter, offset } };
  if (offset - meter.offset < intervalBytes) return { kind: "quiet", meter };
  const grown = Math.max(0, now - meter.atMs) * reportsPerMs;
  const allowance = Math.min(maxAllowance, meter.allowance + grown);
  if (allowance < 1) return { kind: "postpone", waitMs: Math.ceil((1 - allowance) / reportsPerMs) };
  return { kind: "report", meter: { offset, allowance: allowance - 1, atMs: now } };
}
