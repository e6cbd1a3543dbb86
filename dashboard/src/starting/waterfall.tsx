import type { PodView } from "../../../src/monitor/feed/feed-message.ts";
import { formatDuration, formatElapsed, formatTick } from "../text/format-duration.ts";
import { linearTicks } from "../view/nice-axis.ts";
import { percent } from "../view/percent.ts";
import { layoutSpans, type Segment } from "./layout-spans.ts";

/** Stages of a pod, one row each, placed on a time axis. */
export function Waterfall({ pod, now }: { readonly pod: PodView; readonly now: number }) {
  const elapsedMs = Math.max(1, now - pod.createdMs);
  const ticks = linearTicks(elapsedMs, 3);
  return (
    <section>
      <h3>
        Waterfall <span class="muted">created {formatElapsed(elapsedMs)} ago</span>
      </h3>
      <table class="waterfall" style={{ "--grid": percent((ticks[1] ?? elapsedMs) / elapsedMs) }}>
        <caption class="offscreen">Stages of the start and their durations</caption>
        <colgroup>
          <col class="waterfall-name" />
          <col />
          <col class="waterfall-time" />
        </colgroup>
        <thead class="offscreen">
          <tr>
            <th scope="col">Stage</th>
            <th scope="col">Bar</th>
            <th scope="col">Time</th>
          </tr>
        </thead>
        <tbody>
          {layoutSpans(pod, { now, axisMs: elapsedMs }).map(({ name, tone, left, width, ms, isOpen }, i) => (
            // Two containers may pull the same image.
            <tr key={i}>
              <th scope="row" title={name}>
                <bdi>{name}</bdi>
              </th>
              <td class="waterfall-track" aria-hidden="true">
                <span
                  class={`segment tone-${tone}${isOpen ? " is-open" : ""}`}
                  style={{ left: percent(left), width: percent(width) }}
                />
              </td>
              <td class="number">
                {isOpen ? formatElapsed(ms) : formatDuration(ms)}
                {isOpen && <span class="offscreen"> so far</span>}
              </td>
            </tr>
          ))}
        </tbody>
        <tfoot aria-hidden="true">
          <tr>
            <td />
            <td class="axis">
              {ticks.map((tick) => (
                <span key={tick} class="tick" style={{ left: percent(tick / elapsedMs) }}>
                  {formatTick(tick)}
                </span>
              ))}
            </td>
            <td />
          </tr>
        </tfoot>
      </table>
    </section>
  );
}

/** Stages in one line. The row's label describes them. */
export function WaterfallBar(props: { readonly segments: readonly Segment[]; readonly isBroken: boolean }) {
  return (
    <div class={`bar${props.isBroken ? " is-broken" : ""}`} aria-hidden="true">
      {props.segments.map(({ tone, left, width, isOpen }, i) => (
        <span
          // Two containers may pull the same image.
          key={i}
          class={`segment tone-${tone}${isOpen ? " is-open" : ""}`}
          style={{ left: percent(left), width: percent(width) }}
        />
      ))}
    </div>
  );
}
