import type { ProbeView } from "../../../src/monitor/feed/feed-message.ts";
import { Meter } from "../view/meter.tsx";

const maxPips = 40;

/** Failures of a startup probe and its threshold: one pip each, or a bar if there are too many. */
export function ProbePips({ probe }: { readonly probe: ProbeView }) {
  const { failures, threshold } = probe;
  if (threshold > maxPips)
    return <Meter part={failures / threshold} tone={failures >= threshold ? "failing" : "readiness"} />;
  return (
    <span class="pips" aria-hidden="true">
      {Array.from({ length: threshold }, (_, i) => (
        // Pips have no identity other than their position.
        <span key={i} class={i < failures ? "pip is-spent" : "pip"} />
      ))}
    </span>
  );
}
