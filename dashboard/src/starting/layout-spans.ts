import type { PodView } from "../../../src/monitor/feed/feed-message.ts";
import { niceCeiling } from "../view/nice-axis.ts";
import { type SpanTone, toneOfSpan } from "../view/stages.ts";

/** Bar of a span; position and width are shares of the axis, from 0 to 1. */
export interface Segment {
  readonly name: string;
  readonly tone: SpanTone;
  readonly left: number;
  readonly width: number;
  readonly ms: number;
  readonly isOpen: boolean;
}

/** Places spans on an axis that begins at the pod's creation. Longer spans are scaled to fit. */
export function layoutSpans(
  { spans, createdMs }: Pick<PodView, "spans" | "createdMs">,
  { now, axisMs }: { readonly now: number; readonly axisMs: number },
): readonly Segment[] {
  const scale = 1 / Math.max(1, axisMs, now - createdMs);
  return spans.map(({ name, startMs, endMs }) => {
    // Clocks can differ: spans are clamped between the creation of the pod and now.
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
 * Length of the axis that all bars of a list share: the 90th percentile of pods that can recover, so that a pod stuck
 * for days does not make the other bars too short.
 */
export function sharedAxisMs(
  pods: readonly Pick<PodView, "createdMs" | "isTransient">[],
  now: number,
): number {
  const moving = pods.filter(({ isTransient }) => isTransient);
  const elapsed = (moving.length > 0 ? moving : pods)
    .map(({ createdMs }) => now - createdMs)
    .sort((a, b) => a - b);
  return niceCeiling(Math.max(1_000, elapsed[Math.ceil(elapsed.length * 0.9) - 1] ?? 0));
}
