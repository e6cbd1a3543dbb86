import type { ReportGranularity } from "./images.ts";

/** What an interval of 0 asks for. */
const defaultIntervals = { timeMs: 60_000, sizeBytes: 2 ** 30 } as const;

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
