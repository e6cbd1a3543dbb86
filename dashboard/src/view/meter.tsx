import { percent } from "./percent.ts";

/** Bar filled to a share. It is hidden from screen readers; text beside it has the value. */
export function Meter({ part, tone }: { readonly part: number; readonly tone: string }) {
  return (
    <span class={`meter tone-${tone}`} aria-hidden="true">
      <span class="meter-fill" style={{ width: percent(part) }} />
    </span>
  );
}
