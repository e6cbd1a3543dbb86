import type { PodView } from "../../../src/monitor/feed/feed-message.ts";
import { niceCeiling } from "../view/nice-axis.ts";
import { type SpanTone, toneOfSpan } from "../view/stages.ts";

/** A span as a bar; places and lengths are parts of the axis, from 0 to 1. */
export interface Segment {
  readonly name: string;
  readonly tone: SpanTone;
  readonly left: number;
  readonly width: number;
  readonly ms: number;
  readonly isOpen: boolean;
}

/** Spans on an axis from the pod's creation. What lasts longer than the axis is drawn in to its end. */
export function layoutSpans(
  { spans, createdMs }: Pick<PodView, "spans" | "createdMs">,
  { now, axisMs }: { readonly now: number; readonly axisMs: number },
): readonly Segment[] {
  const scale = 1 / Math.max(1, axisMs, now - createdMs);
  return spans.map(({ name, startMs, endMs }) => {
    // A pod's clock may be ahead of the server's: nothing starts before the pod or ends in the future.
    const from = Math.max(createdMs, Math.min(startMs, now));
    const to = Math.max(from, Math.min(endMs ?? now, now));
    return {
      name,
      tone: toneOfSpan(name),
      left: Math.min(1, (from - createdMs) * scale),
      width: (to - from) * scale,
      ms: to - from,
      isOpen: endMs === undefined || endMs === null,
    };
  });
}

/**
 * The axis that the bars of a list share: the one that nine of ten pods that are on their way fit on. A pod that has
 * been stuck for days must not make the others' bars too short to see.
 */
export function sharedAxisMs(
  pods: readonly Pick<PodView, "createdMs" | "healsByItself">[],
  now: number,
): number {
  const moving = pods.filter(({ healsByItself }) => healsByItself);
  const elapsed = (moving.length > 0 ? moving : pods)
    .map(({ createdMs }) => now - createdMs)
    .sort((a, b) => a - b);
  return niceCeiling(Math.max(1_000, elapsed[Math.ceil(elapsed.length * 0.9) - 1] ?? 0));
}
