import { type LogAxis, placeOnLog } from "../view/nice-axis.ts";

export interface Bin {
  /** Places on the axis, from 0 to 1. */
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** Bins of equal length on a logarithmic axis; what lies outside is counted at its ends. */
export function binDurations(values: readonly number[], axis: LogAxis, bins: number): readonly Bin[] {
  const counts = new Array<number>(bins).fill(0);
  for (const value of values) {
    const bin = Math.min(bins - 1, Math.floor(placeOnLog(axis, value) * bins));
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return counts.map((count, i) => ({ from: i / bins, to: (i + 1) / bins, count }));
}
