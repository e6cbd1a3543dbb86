import type { PodView } from "../../../src/monitor/feed/feed-message.ts";
import { type PodSamples, pullKey } from "../feed/feed-state.ts";
import { paceOf } from "../feed/pull-pace.ts";
import { formatElapsed } from "../text/format-duration.ts";
import { toneOfPod } from "../view/stages.ts";
import { describePace, describePod } from "./describe-pod.ts";
import { layoutSpans } from "./layout-spans.ts";
import { ProbePips } from "./probe-pips.tsx";
import { LayerStrip } from "./pull-progress.tsx";
import { WaterfallBar } from "./waterfall.tsx";

/** Row of a pod: name, stages and elapsed time. */
export function PodRow(props: {
  readonly pod: PodView;
  readonly samples: PodSamples | undefined;
  readonly now: number;
  readonly axisMs: number;
  readonly at: number;
  readonly count: number;
  readonly top: number;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
}) {
  const { pod, now, axisMs, at } = props;
  const elapsedMs = Math.max(0, now - pod.createdMs);
  return (
    // The surrounding listbox has the focus and handles keys.
    // biome-ignore lint/a11y/useKeyWithClickEvents: see above
    // biome-ignore lint/a11y/useFocusableInteractive: see above
    <div
      class={`row${pod.isTransient ? "" : " is-stuck"}`}
      id={`pod-${at}`}
      role="option"
      aria-selected={props.isSelected}
      aria-posinset={at + 1}
      aria-setsize={props.count}
      aria-label={describePod(pod)}
      style={{ transform: `translateY(${props.top}px)` }}
      onClick={props.onSelect}
    >
      <div class="row-who">
        <bdi class="row-name">{pod.name}</bdi>
        <span class="row-where">
          <bdi>{pod.namespace}</bdi>
          {pod.node && (
            <>
              {" · "}
              <bdi>{pod.node}</bdi>
            </>
          )}
        </span>
      </div>
      <div class="row-way">
        <WaterfallBar segments={layoutSpans(pod, { now, axisMs })} isBroken={elapsedMs > axisMs} />
        <div class="row-why">
          <bdi class="row-because">{pod.because}</bdi>
          <RowProgress pod={pod} samples={props.samples} now={now} />
        </div>
      </div>
      <div class="row-time">
        <span class="row-elapsed">{formatElapsed(elapsedMs)}</span>
        <span class="row-stage">
          <span class={`dot tone-${pod.isTransient ? toneOfPod(pod.stage) : "failing"}`} />
          {pod.stage}
        </span>
      </div>
    </div>
  );
}

function RowProgress({
  pod,
  samples,
  now,
}: {
  readonly pod: PodView;
  samples: PodSamples | undefined;
  now: number;
}) {
  const pull = pod.pulls[0];
  if (pull) {
    const pace = paceOf(samples?.get(pullKey(pull)) ?? [], { ...pull, now });
    return (
      <span class="row-progress">
        <LayerStrip pull={pull} />
        <span class="row-pace">{describePace(pace)}</span>
      </span>
    );
  }
  const probe = pod.probes[0];
  return (
    probe && (
      <span class="row-progress">
        <ProbePips probe={probe} />
        <span class="row-pace">
          {probe.failures} of {probe.threshold}
        </span>
      </span>
    )
  );
}
