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

export interface LastReport {
  readonly atMs: number;
  readonly offset: number;
}

/** Whether a caller is due a report. */
export function isReportDue(
  granularity: ReportGranularity,
  last: LastReport,
  current: { now: number; offset: number },
): boolean {
  switch (granularity.kind) {
    case "none":
      return false;
    case "time":
      return current.now - last.atMs >= granularity.intervalMs;
    case "size":
      return current.offset - last.offset >= granularity.intervalBytes;
  }
}
