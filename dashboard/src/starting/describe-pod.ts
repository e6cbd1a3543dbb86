import type { PodView, ProbeView } from "../../../src/monitor/feed/feed-message.ts";
import { formatDuration, formatLeft } from "../text/format-duration.ts";

/**
 * A row in words, for those who do not see it. It has nothing in it that counts up, else it would be read out again
 * and again.
 */
export function describePod({ namespace, name, stage, because, healsByItself, spans }: PodView): string {
  const stuck = healsByItself ? "" : " It does not heal by itself.";
  return `${namespace}/${name}, ${stage}. ${because}${stuck} ${describeSpans(spans)}`.trim();
}

function describeSpans(spans: PodView["spans"]): string {
  if (spans.length === 0) return "";
  const parts = spans.map(({ name, startMs, endMs }) =>
    endMs ? `${name} ${formatDuration(endMs - startMs)}` : `${name} under way`,
  );
  return `Stages: ${parts.join(", ")}.`;
}

export function describeHealing({ healsByItself, healsWhen }: PodView): string {
  if (!healsByItself) return "It does not heal by itself.";
  return `It may heal by itself${healsWhen ? `, ${healsWhen}` : ""}.`;
}

/** What a startup probe still allows: each failure that is left takes a period. */
export function describeProbe({ failures, threshold, periodSeconds }: ProbeView): string {
  const left = Math.max(0, threshold - failures);
  const budget = left === 0 ? "none left" : `${formatLeft(left * periodSeconds)} left`;
  return `${failures} of ${threshold} failures, one try every ${periodSeconds} s, ${budget}`;
}
