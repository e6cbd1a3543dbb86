import type { ProbeView } from "../../../src/monitor/feed/feed-message.ts";
import { Meter } from "../view/meter.tsx";

const mostPips = 40;

/** A startup probe's failures against its budget: a pip for each, or a bar where they are too many to see. */
export function ProbePips({ probe }: { readonly probe: ProbeView }) {
  const { failures, threshold } = probe;
  if (threshold > mostPips)
    return <Meter part={failures / threshold} tone={failures >= threshold ? "failing" : "readiness"} />;
  return (
    <span class="pips" aria-hidden="true">
      {Array.from({ length: threshold }, (_, i) => (
        // A pip is its place.
        <span key={i} class={i < failures ? "pip is-spent" : "pip"} />
      ))}
    </span>
  );
}
