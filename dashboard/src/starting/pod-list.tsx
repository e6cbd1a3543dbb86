import { useEffect, useRef, useState } from "preact/hooks";
import type { PodView } from "../../../src/monitor/feed/feed-message.ts";
import type { FeedState } from "../feed/feed-state.ts";
import { formatTick } from "../text/format-duration.ts";
import { useMedia, useSize } from "../view/hooks.ts";
import { linearTicks } from "../view/nice-axis.ts";
import { percent } from "../view/percent.ts";
import { rowAfterKey, scrollToRow, virtualWindow } from "../view/virtual-window.ts";
import { PodRow } from "./pod-row.tsx";

/** Row heights, which must match style/starting.css. */
const rowHeights = { wide: 60, narrow: 122 } as const;
const headHeight = 24;

/** Virtual list of pods: only visible rows are rendered. */
export function PodList(props: {
  readonly pods: readonly PodView[];
  readonly samples: FeedState["samples"];
  readonly now: number;
  readonly axisMs: number;
  readonly selected: string | undefined;
  readonly onSelect: (uid: string) => void;
}) {
  const { pods, axisMs, selected } = props;
  const { ref, height } = useSize<HTMLDivElement>();
  const viewHeight = Math.max(0, height - headHeight);
  const [scrollTop, setScrollTop] = useState(0);
  const rowHeight = useMedia("(max-width: 700px)") ? rowHeights.narrow : rowHeights.wide;
  const index = selected === undefined ? -1 : pods.findIndex(({ uid }) => uid === selected);
  const { first, end } = virtualWindow({ scrollTop, viewHeight, rowHeight, count: pods.length, spare: 4 });
  const seen = pods.slice(first, end).map((pod, i) => ({ pod, at: first + i }));
  const chosen = pods[index];
  // The selected row is always rendered, because screen readers refer to it.
  if (chosen && (index < first || index >= end)) seen.push({ pod: chosen, at: index });
  const byKey = useRef(false);
  useEffect(() => {
    const list = ref.current;
    if (!list || !byKey.current || index < 0) return;
    byKey.current = false;
    list.scrollTop = scrollToRow(index, { scrollTop: list.scrollTop, viewHeight, rowHeight });
  }, [index, rowHeight, viewHeight, ref]);
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(viewHeight / rowHeight) - 1);
    const to = rowAfterKey(event.key, { index, count: pods.length, page });
    const pod = to === undefined ? undefined : pods[to];
    if (!pod) return;
    event.preventDefault();
    byKey.current = true;
    props.onSelect(pod.uid);
  };
  const ticks = linearTicks(axisMs, 5);
  return (
    <div
      class="list"
      id="pods"
      role="listbox"
      aria-label="Pods that are starting"
      aria-activedescendant={index >= 0 ? `pod-${index}` : undefined}
      tabIndex={0}
      ref={ref}
      style={{ "--grid": percent((ticks[1] ?? axisMs) / axisMs) }}
      onScroll={(event) => setScrollTop(event.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
    >
      <div class="list-head" aria-hidden="true">
        <span>Pod</span>
        <span class="axis">
          {ticks.map((tick) => (
            <span key={tick} class="tick" style={{ left: percent(tick / axisMs) }}>
              {formatTick(tick)}
            </span>
          ))}
        </span>
        <span>For</span>
      </div>
      <div class="list-rows" role="presentation" style={{ height: `${pods.length * rowHeight}px` }}>
        {seen.map(({ pod, at }) => (
          <PodRow
            key={pod.uid}
            pod={pod}
            samples={props.samples.get(pod.uid)}
            now={props.now}
            axisMs={axisMs}
            at={at}
            count={pods.length}
            top={at * rowHeight}
            isSelected={at === index}
            onSelect={() => props.onSelect(pod.uid)}
          />
        ))}
      </div>
    </div>
  );
}
