import { percent } from "../view/percent.ts";
import type { Segment } from "./layout-spans.ts";

/** The stages in one line. Its words are the row's label. */
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
