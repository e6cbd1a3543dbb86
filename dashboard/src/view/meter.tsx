import { percent } from "./percent.ts";

/** A bar that is full to a part of it. Says nothing by itself: the words stand beside it. */
export function Meter({ part, tone }: { readonly part: number; readonly tone: string }) {
  return (
    <span class={`meter tone-${tone}`} aria-hidden="true">
      <span class="meter-fill" style={{ width: percent(part) }} />
    </span>
  );
}
