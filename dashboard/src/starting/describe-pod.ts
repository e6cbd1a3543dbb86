import type { PodView, ProbeView } from "../../../src/monitor/feed/feed-message.ts";
import type { Pace } from "../feed/pull-pace.ts";
import { formatBytes } from "../text/format-bytes.ts";
import { formatDuration, formatElapsed, formatLeft } from "../text/format-duration.ts";

/**
 * Describes a row for screen readers. It contains no running durations, because these would be read out repeatedly.
 */
export function describePod({ namespace, name, stage, because, isTransient, spans }: PodView): string {
  const stuck = isTransient ? "" : " It does not recover automatically.";
  return `${namespace}/${name}, ${stage}. ${because}${stuck} ${describeSpans(spans)}`.trim();
}

function describeSpans(spans: PodView["spans"]): string {
  if (spans.length === 0) return "";
  const parts = spans.map(({ name, startMs, endMs }) =>
    endMs ? `${name} ${formatDuration(endMs - startMs)}` : `${name} under way`,
  );
  return `Stages: ${parts.join(", ")}.`;
}

export function describeRecovery({ isTransient, resolvesWhen }: PodView): string {
  if (!isTransient) return "It does not recover automatically.";
  return `It may recover automatically${resolvesWhen ? `, ${resolvesWhen}` : ""}.`;
}

/** Describes the remaining budget of a startup probe; each remaining failure takes one period. */
export function describeProbe({ failures, threshold, periodSeconds }: ProbeView): string {
  const left = Math.max(0, threshold - failures);
  const budget = left === 0 ? "none left" : `${formatLeft(left * periodSeconds)} left`;
  return `${failures} of ${threshold} failures, one attempt every ${periodSeconds} s, ${budget}`;
}

export function describePace(pace: Pace): string {
  switch (pace.kind) {
    case "unknown":
      return "";
    case "done":
      return "unpacking";
    case "still":
      return `no progress for ${formatElapsed(pace.forMs)}`;
    case "moving": {
      const rate = `${formatBytes(pace.bytesPerSecond)}/s`;
      return pace.secondsLeft === undefined ? rate : `${rate} · ${formatLeft(pace.secondsLeft)} left`;
    }
  }
}

export interface Fix {
  readonly advice: string;
  readonly command: string | undefined;
}

/** Fixes of `kindling why`, of which each is one line. */
export function splitFixes(fix: string | undefined): readonly Fix[] {
  return fix?.split("\n").map(splitFix) ?? [];
}

/**
 * Splits a fix of `kindling why` into advice and an optional command. Users paste the command into a shell and parts of it
 * come from pods, so line breaks and control or bidirectional characters are removed.
 */
export function splitFix(fix: string): Fix {
  const at = fix.search(/\b(kubectl|kindling) [a-z]/);
  if (at < 0) return { advice: fix, command: undefined };
  const advice = fix.slice(0, at).replace(/[\s:]+$/, "");
  const lines = fix.slice(at).split(/[\p{C}\p{Zl}\p{Zp}]/u);
  const command = lines
    .map((line) => line.trim())
    .filter(Boolean)
    .join(" ");
  return { advice, command };
}
