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

/** When it was ready from left to right, how long it took from bottom to top. */
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

/** All dots of a colour are one path: thousands of them cost one element. */
export function dotsPath(points: readonly Point[]): string {
  return points.map(({ x, y }) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`).join("");
}

/** The one under the pointer, or near it. */
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
