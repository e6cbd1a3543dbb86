import type { FinishedView } from "../../../src/monitor/feed/feed-message.ts";
import { type LogAxis, placeOnLog } from "../view/nice-axis.ts";
import type { Stage } from "../view/stages.ts";
import { durationMs, slowestStage } from "./group-starts.ts";

export interface Point {
  readonly start: FinishedView;
  readonly x: number;
  readonly y: number;
  readonly stage: Stage | undefined;
}

export interface Plot {
  readonly width: number;
  readonly height: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly axis: LogAxis;
}

/** Places a start by its ready time (x) and duration (y). */
export function placeStarts(starts: readonly FinishedView[], plot: Plot): readonly Point[] {
  const { width, height, fromMs, toMs, axis } = plot;
  const scale = width / Math.max(1, toMs - fromMs);
  return starts.map((start) => ({
    start,
    x: Math.min(width, Math.max(0, (start.readyMs - fromMs) * scale)),
    y: height * (1 - placeOnLog(axis, durationMs(start))),
    stage: slowestStage(start),
  }));
}

/** Path with all dots of a colour, so that thousands of dots need one element. */
export function dotsPath(points: readonly Point[]): string {
  return points.map(({ x, y }) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`).join("");
}

/** Point nearest to the pointer. */
export function nearestPoint(points: readonly Point[], x: number, y: number, within = 14): Point | undefined {
  let best: Point | undefined;
  let least = within ** 2;
  for (const point of points) {
    const distance = (point.x - x) ** 2 + (point.y - y) ** 2;
    if (distance > least) continue;
    least = distance;
    best = point;
  }
  return best;
}

interface Bin {
  /** Positions on the axis, from 0 to 1. */
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** Counts values in bins of equal length on a logarithmic axis; values outside are counted in the outer bins. */
export function binDurations(values: readonly number[], axis: LogAxis, bins: number): readonly Bin[] {
  const counts = new Array<number>(bins).fill(0);
  for (const value of values) {
    const bin = Math.min(bins - 1, Math.floor(placeOnLog(axis, value) * bins));
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return counts.map((count, i) => ({ from: i / bins, to: (i + 1) / bins, count }));
}
